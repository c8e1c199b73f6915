//! A path that grows part by part, and whose components no value leaves.

use crate::contract::Failure;

/// A path under construction that knows which component a value had a part in.
#[derive(Default)]
pub(super) struct PathText {
    text: String,
    /// Whether a value stands in the component that begins after the last `/`.
    is_filled: bool,
    /// Set by an empty `{folder}`, which takes the `/` after it away.
    swallows_slash: bool,
    failure: Option<Failure>,
}

impl PathText {
    pub(super) fn push_trusted(&mut self, text: &str) {
        let text = if self.swallows_slash { text.strip_prefix('/').unwrap_or(text) } else { text };
        self.swallows_slash &= text.is_empty();
        for (at, component) in text.split('/').enumerate() {
            if at > 0 {
                self.end_component();
                self.text.push('/');
            }
            self.text.push_str(component);
        }
    }

    pub(super) fn push_value(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        if let Some(control) = value.chars().find(|c| c.is_control()) {
            let found = control.escape_default();
            return Err(Failure::item(format!(
                "`{{{name}}}` holds the control character `{found}`, which no file name may"
            )));
        }
        self.is_filled = true;
        self.swallows_slash = false;
        self.text.push_str(&value.replace('/', "_"));
        Ok(())
    }

    pub(super) fn push_folders(&mut self, folders: &str) -> Result<(), Failure> {
        if folders.is_empty() {
            self.swallows_slash = true;
            return Ok(());
        }
        for (at, folder) in folders.split('/').enumerate() {
            if at > 0 {
                self.end_component();
                self.text.push('/');
            }
            self.push_value("folder", folder)?;
        }
        Ok(())
    }

    fn end_component(&mut self) {
        let component = self.text.rsplit('/').next().unwrap_or_default();
        if self.is_filled && matches!(component, "" | "." | "..") {
            self.failure.get_or_insert_with(|| {
                Failure::item(format!(
                    "a value makes the path component `{component}`, which is no file name"
                ))
            });
        }
        self.is_filled = false;
    }

    pub(super) fn finish(mut self) -> Result<String, Failure> {
        self.end_component();
        self.failure.map_or(Ok(self.text), Err)
    }
}

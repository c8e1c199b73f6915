//! What GDAL says while it works: kept for the thread that asked, and never printed.

use std::cell::RefCell;

use gdal::config::set_error_handler;
use gdal::errors::CplErrType;

use super::ffi::files::PREFIX;

thread_local! {
    /// What GDAL said on this thread since `listen` began; `None` while nobody listens.
    static HEARD: RefCell<Option<Messages>> = const { RefCell::new(None) };
}

/// What GDAL said during one piece of work.
#[derive(Debug, Default)]
pub(super) struct Messages {
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Messages {
    /// The cause of a failure: up to three different errors in their order, else the warnings.
    pub(super) fn cause(&self) -> String {
        let said = if self.errors.is_empty() { &self.warnings } else { &self.errors };
        if said.is_empty() {
            return "GDAL states no cause".to_owned();
        }
        said[..said.len().min(3)].join("; ")
    }

    fn push(&mut self, class: CplErrType, text: &str) {
        let list = match class {
            CplErrType::None | CplErrType::Debug => return,
            CplErrType::Warning => &mut self.warnings,
            CplErrType::Failure | CplErrType::Fatal => &mut self.errors,
        };
        let text = plain(text);
        if list.len() < 16 && !list.contains(&text) {
            list.push(text);
        }
    }
}

/// Runs GDAL work and returns what it said on this thread. May be nested; the inner hears its own part.
pub(super) fn listen<R>(work: impl FnOnce() -> R) -> (R, Messages) {
    let outer = HEARD.replace(Some(Messages::default()));
    let result = work();
    (result, HEARD.replace(outer).unwrap_or_default())
}

/// Makes GDAL tell its messages to [`listen`] instead of the terminal, for the whole process.
pub(super) fn collect() {
    set_error_handler(|class, _number, text| {
        HEARD.with_borrow_mut(|heard| {
            if let Some(messages) = heard {
                messages.push(class, text);
            }
        });
    });
}

/// The message without the folder of the virtual file system, on one line.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split(PREFIX);
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        plain.push_str(part[digits..].trim_start_matches('/'));
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_the_virtual_folder() {
        assert_eq!(plain("/vsigisrun/12/a.tif, band 1:\n failed"), "a.tif, band 1: failed");
        assert_eq!(plain("nothing to hide"), "nothing to hide");
    }

    #[test]
    fn names_errors_before_warnings_and_each_once() {
        let mut messages = Messages::default();
        messages.push(CplErrType::Warning, "odd tag");
        messages.push(CplErrType::Failure, "decoding error");
        messages.push(CplErrType::Failure, "decoding error");
        assert_eq!(messages.cause(), "decoding error");
        assert_eq!(Messages::default().cause(), "GDAL states no cause");
    }
}

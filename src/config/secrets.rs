//! Values that must not appear in messages.

use super::{Fault, Parameter, Value, ValueKind};

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Secrets of fewer characters are masked as words.
const SHORT: usize = 6;

/// The values of secret parameters. `Debug` does not show them.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    /// The secrets among the parameters.
    pub fn of(parameters: &[Parameter]) -> Self {
        let secret = parameters.iter().filter(|parameter| parameter.is_secret);
        let mut texts: Vec<String> =
            secret.filter_map(|parameter| plain_text(parameter.value.as_ref()?)).collect();
        texts.retain(|text| !text.is_empty());
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self(texts)
    }

    /// The text with every secret masked; a short one only where it is a word, lest it shows through what is left of
    /// all other words.
    pub fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            if secret.chars().count() < SHORT {
                replace_words(&text, secret)
            } else {
                text.replace(secret.as_str(), MASK)
            }
        })
    }

    /// The JSON value with every secret masked in its texts: secrets are no part of a fingerprint.
    pub fn redact_json(&self, value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) => *text = self.redact(text),
            serde_json::Value::Array(values) => values.iter_mut().for_each(|value| self.redact_json(value)),
            serde_json::Value::Object(entries) => {
                entries.values_mut().for_each(|value| self.redact_json(value));
            }
            _ => {}
        }
    }

    pub(super) fn redact_fault(&self, fault: &mut Fault) {
        for text in [&mut fault.message, &mut fault.label, &mut fault.help] {
            *text = self.redact(text);
        }
        fault.related.iter_mut().for_each(|(_, words)| *words = self.redact(words));
    }
}

/// Masks `word` where no letter or digit touches it.
fn replace_words(text: &str, word: &str) -> String {
    let mut masked = String::new();
    let mut rest = 0;
    for (at, _) in text.match_indices(word) {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        if !before.into_iter().chain(after).any(char::is_alphanumeric) {
            masked.push_str(&text[rest..at]);
            masked.push_str(MASK);
            rest = at + word.len();
        }
    }
    masked + &text[rest..]
}

/// A value as it stands inside a text; `None` for lists and tables.
pub(super) fn plain_text(value: &Value) -> Option<String> {
    match &value.kind {
        ValueKind::String(text) | ValueKind::Datetime(text) => Some(text.clone()),
        ValueKind::Integer(number) => Some(number.to_string()),
        ValueKind::Float(number) => Some(format!("{number:?}")),
        ValueKind::Boolean(flag) => Some(flag.to_string()),
        ValueKind::Array(_) | ValueKind::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_short_ones_as_words() {
        let secrets = Secrets(vec!["hunter2!".into(), "set".into()]);
        assert_eq!(secrets.redact("https://a?key=hunter2!x"), "https://a?key=***x");
        assert_eq!(secrets.redact("`set` in settings"), "`***` in settings");
    }
}

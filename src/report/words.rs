//! Figures as one says them.

use crate::events::OutlineResource;
use crate::units::{ByteSize, spoken_count};

/// A limit or an amount of a resource with its unit: `16`, `2 GiB`, `5/s`.
pub(super) fn limit(resource: &OutlineResource, amount: f64) -> String {
    match resource.kind.as_str() {
        "bytes" => ByteSize(amount as u64).to_string(),
        "rate" => format!("{}/s", trimmed(amount)),
        _ => trimmed(amount),
    }
}

/// One decimal where it says something.
pub(super) fn trimmed(amount: f64) -> String {
    if amount.fract().abs() < 0.05 { spoken_count(amount.round() as u64) } else { format!("{amount:.1}") }
}

/// Messages carry words from outside, which must not steer the terminal or break a list.
pub(super) fn clean(message: &str) -> String {
    message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// An argument as a shell takes it: in single quotes where it holds more than names do.
pub(super) fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_unit_of_their_kind() {
        let resource = |kind: &str| OutlineResource { kind: kind.into(), ..OutlineResource::default() };
        assert_eq!(limit(&resource("slots"), 16.0), "16");
        assert_eq!(limit(&resource("bytes"), 2_147_483_648.0), "2 GiB");
        assert_eq!(limit(&resource("rate"), 2.5), "2.5/s");
    }

    #[test]
    fn arguments_go_through_a_shell_unharmed() {
        let cases = [
            ("job.toml", "job.toml"),
            ("my job", "'my job'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$x", "'$x'"),
        ];
        for (argument, typed) in cases {
            assert_eq!(quoted(argument), typed);
        }
    }
}

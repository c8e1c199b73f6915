//! What is told of a program that has ended: its exit code or signal by name, and its last words.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How many bytes of what a program says are kept.
const KEPT: usize = 4096;

/// The last 4 KiB of what a program says; what came before is forgotten.
#[derive(Clone, Debug, Default)]
pub struct LastWords {
    bytes: VecDeque<u8>,
    is_cut: bool,
}

impl LastWords {
    /// Hears more.
    pub fn hear(&mut self, said: &[u8]) {
        let said = &said[said.len().saturating_sub(KEPT)..];
        let room = KEPT - said.len();
        let beyond = self.bytes.len().saturating_sub(room);
        self.is_cut |= beyond > 0;
        self.bytes.drain(..beyond);
        self.bytes.extend(said);
    }

    /// The text without control characters but line ends, `…` before it where something is forgotten; empty when nothing
    /// was said.
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let plain: String = text.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
        let plain = plain.trim();
        if self.is_cut { format!("…{plain}") } else { plain.to_owned() }
    }
}

/// How a program ended: ``ended with exit code `3` ``, ``was killed by signal 11 (SIGSEGV)``.
pub fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code `{code}`"),
        (None, Some(9)) => "was killed by signal 9 (SIGKILL), which is how memory that runs out ends".into(),
        (None, Some(signal)) => format!("was killed by signal {signal}{}", named(signal)),
        (None, None) => "ended in an unknown way".into(),
    }
}

/// The name of a signal that ends processes; the numbers are the same on every Linux but those of MIPS and SPARC.
fn named(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        5 => " (SIGTRAP)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        14 => " (SIGALRM)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        25 => " (SIGXFSZ)",
        31 => " (SIGSYS)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_the_last() {
        let mut words = LastWords::default();
        words.hear(b" \x1b[1mhello\r\nworld\n");
        assert_eq!(words.text(), "[1mhello\nworld");
        words.hear(&[b'a'; KEPT]);
        words.hear(b"bc");
        let text = words.text();
        assert!(text.starts_with("…aaa") && text.ends_with("abc"), "{text}");
        assert_eq!(text.chars().count(), 1 + KEPT);
    }

    #[test]
    fn endings_are_named() {
        let told = |raw| how_it_ended(ExitStatus::from_raw(raw));
        assert_eq!(told(3 << 8), "ended with exit code `3`");
        assert_eq!(told(11), "was killed by signal 11 (SIGSEGV)");
        assert_eq!(told(0x80 | 0x0b), "was killed by signal 11 (SIGSEGV)", "with a core dump");
        assert_eq!(told(34), "was killed by signal 34");
        assert!(told(9).contains("SIGKILL"));
    }
}

//! What is said at once: failures, stalls, the end that comes early; with more words, retries and limits.

use super::display::Style;
use crate::events::{Event, Record};
use crate::units::{spoken_count, spoken_time};

/// How many failures are told as they happen, unless more words are wanted.
const FIRST: u64 = 5;

/// Says what is to be said of each event.
#[derive(Debug)]
pub(super) struct Notices {
    style: Style,
    failures: u64,
}

impl Notices {
    pub(super) fn new(style: Style) -> Self {
        Self { style, failures: 0 }
    }

    /// The words for one event, if any: a line or several, without control characters from outside.
    pub(super) fn of(&mut self, record: &Record) -> Option<String> {
        match &record.event {
            Event::ItemFailed { item, stage, message, .. } => {
                self.failed(&format!("`{item}` in `{stage}`: {message}"))
            }
            Event::StageWarned { stage, item, message } => {
                let words = format!("`{item}` in `{stage}`: {message}");
                Some(format!("{} {}", self.style.warning("warning:"), clean(&words)))
            }
            Event::ItemFinished { item } if self.style.is_verbose => Some(clean(&format!("done: `{item}`"))),
            Event::ItemSkipped { item, reason } if self.style.is_verbose => {
                Some(clean(&format!("not run: `{item}`: {reason}")))
            }
            Event::Stalled { seconds, waiting } => Some(self.stalled(*seconds, waiting)),
            Event::Stopping { reason, running } => {
                let words = format!("stopping ({reason}): {} items still run", spoken_count(*running));
                Some(self.style.warning(&clean(&words)))
            }
            Event::StageRetried { stage, item, attempt, delay, message, .. } if self.style.is_verbose => {
                let delay = spoken_time(*delay);
                Some(clean(&format!("again in {delay}: `{item}` in `{stage}`, try {attempt}: {message}")))
            }
            Event::ItemCut { item, windows, edge } if self.style.is_verbose => Some(clean(&format!(
                "`{item}` is too large for memory: cut into {windows} windows of {edge} pixels or less"
            ))),
            Event::LimitChanged { resource, from, to, reason } if self.style.is_verbose => {
                Some(clean(&format!("`{resource}` from {from} to {to}: {reason}")))
            }
            _ => None,
        }
    }

    fn failed(&mut self, words: &str) -> Option<String> {
        self.failures += 1;
        if self.style.is_verbose || self.failures <= FIRST {
            return Some(format!("{} {}", self.style.error("failed:"), clean(words)));
        }
        (self.failures == FIRST + 1).then(|| "further failures are told at the end".to_owned())
    }

    fn stalled(&self, seconds: f64, waiting: &[String]) -> String {
        let head = format!("nothing has moved for {}", spoken_time(seconds));
        let mut words = self.style.warning(&head);
        for line in waiting {
            words.push_str("\n  ");
            words.push_str(&clean(line));
        }
        words
    }
}

/// Ids and messages come from outside and must not steer the terminal.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::FailureClass;

    const PLAIN: Style = Style { is_coloured: false, is_verbose: false };

    fn failure(item: &str) -> Record {
        let event = Event::ItemFailed {
            item: item.into(),
            stage: "bands".into(),
            class: FailureClass::Item,
            message: "no CRS".into(),
        };
        Record { ts: 0.0, event }
    }

    #[test]
    fn the_first_failures_are_told_and_the_others_announced_once() {
        let mut notices = Notices::new(PLAIN);
        let told: Vec<_> = (1..=8).map(|item| notices.of(&failure(&item.to_string()))).collect();
        assert_eq!(told[4].as_deref(), Some("failed: `5` in `bands`: no CRS"));
        assert_eq!(told[5].as_deref(), Some("further failures are told at the end"));
        assert_eq!(told[6..], [None, None]);
        let mut verbose = Notices::new(Style { is_verbose: true, ..PLAIN });
        assert!((1..=8).all(|item| verbose.of(&failure(&item.to_string())).unwrap().starts_with("failed:")));
    }

    #[test]
    fn colours_stand_only_where_they_are_wanted() {
        assert!(!Notices::new(PLAIN).of(&failure("a")).unwrap().contains('\u{1b}'));
        let coloured = Style { is_coloured: true, ..PLAIN };
        assert!(Notices::new(coloured).of(&failure("a")).unwrap().starts_with("\u{1b}[31mfailed:\u{1b}[0m"));
    }

    #[test]
    fn a_warning_names_the_item() {
        let (stage, item) = ("bands".into(), "a".into());
        let event = Event::StageWarned { stage, item, message: "odd nodata".into() };
        let told = Notices::new(PLAIN).of(&Record { ts: 0.0, event }).unwrap();
        assert_eq!(told, "warning: `a` in `bands`: odd nodata");
    }

    #[test]
    fn an_id_cannot_steer_the_terminal() {
        let told = Notices::new(PLAIN).of(&failure("a\u{1b}[2J\nb")).unwrap();
        assert_eq!(told, "failed: `a\u{fffd}[2J\u{fffd}b` in `bands`: no CRS");
    }

    #[test]
    fn a_stall_names_who_waits_and_retries_need_more_words() {
        let stalled = Event::Stalled { seconds: 60.0, waiting: vec!["`bands` waits for `cores`".into()] };
        let told = Notices::new(PLAIN).of(&Record { ts: 0.0, event: stalled }).unwrap();
        assert_eq!(told, "nothing has moved for 1 m 00 s\n  `bands` waits for `cores`");
        let limit = Event::LimitChanged {
            resource: "connections".into(),
            from: 16,
            to: 12,
            reason: "throttled".into(),
        };
        let limit = Record { ts: 0.0, event: limit };
        assert_eq!(Notices::new(PLAIN).of(&limit), None);
        let told = Notices::new(Style { is_verbose: true, ..PLAIN }).of(&limit);
        assert_eq!(told.as_deref(), Some("`connections` from 16 to 12: throttled"));
    }
}

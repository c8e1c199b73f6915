//! Failures grouped by cause: what is left of a message when what differs from item to item is taken out.

use std::collections::HashMap;

use crate::ids::{ItemId, StageName};

/// The most causes that are kept apart; further ones are counted together.
const CAUSES: usize = 1000;

/// Failures by cause.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    by_cause: HashMap<(StageName, String), Cause>,
    others: u64,
}

/// Failures of one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) stage: StageName,
    pub(crate) count: u64,
    /// The first item that failed so, and its message.
    pub(crate) item: ItemId,
    pub(crate) message: String,
}

impl Causes {
    pub(crate) fn add(&mut self, stage: &StageName, item: &ItemId, message: &str) {
        let key = (stage.clone(), common_part(message));
        if let Some(cause) = self.by_cause.get_mut(&key) {
            cause.count += 1;
        } else if self.by_cause.len() < CAUSES {
            let cause =
                Cause { stage: stage.clone(), count: 1, item: item.clone(), message: message.to_owned() };
            self.by_cause.insert(key, cause);
        } else {
            self.others += 1;
        }
    }

    /// Takes in those of another run; an item's message stays that of the first.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.others += other.others;
        for (key, cause) in &other.by_cause {
            if let Some(known) = self.by_cause.get_mut(key) {
                known.count += cause.count;
            } else if self.by_cause.len() < CAUSES {
                self.by_cause.insert(key.clone(), cause.clone());
            } else {
                self.others += cause.count;
            }
        }
    }

    /// The causes, the most frequent first, ties by stage and message.
    pub(crate) fn sorted(&self) -> Vec<&Cause> {
        let mut causes: Vec<_> = self.by_cause.values().collect();
        causes.sort_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| (&a.stage, &a.message).cmp(&(&b.stage, &b.message)))
        });
        causes
    }

    /// Failures of causes beyond those that are kept apart.
    pub(crate) fn others(&self) -> u64 {
        self.others
    }
}

/// The message without the values in backticks and without numbers, which differ from item to item.
fn common_part(message: &str) -> String {
    let mut common = String::new();
    for (at, part) in message.split('`').enumerate() {
        if at % 2 == 1 {
            common.push('`');
        } else {
            common.extend(part.chars().filter(|c| !c.is_ascii_digit()));
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    fn causes(failures: &[(&str, &str, &str)]) -> Causes {
        let mut causes = Causes::default();
        for (stage, item, message) in failures {
            causes.add(&(*stage).into(), &(*item).into(), message);
        }
        causes
    }

    #[test]
    fn values_and_numbers_do_not_part_causes_and_words_and_stages_do() {
        let causes = causes(&[
            ("read", "a", "`a.tif` has no CRS"),
            ("fetched", "b", "`https://h/b` answered 503 after 12 tries"),
            ("fetched", "c", "`https://h/c` answered 500 after 3 tries"),
            ("read", "d", "`d.tif` has no band `nir`"),
            ("warp", "e", "`e.tif` has no CRS"),
            ("fetched", "f", "`https://h/f` answered 503 after 5 tries"),
        ]);
        let told: Vec<_> = causes.sorted().iter().map(|cause| (cause.count, cause.item.as_str())).collect();
        assert_eq!(told, [(3, "b"), (1, "a"), (1, "d"), (1, "e")]);
        assert_eq!(causes.sorted()[0].message, "`https://h/b` answered 503 after 12 tries");
    }

    #[test]
    fn causes_without_end_are_counted_together() {
        let mut causes = Causes::default();
        for number in 0..CAUSES + 5 {
            let word = number.to_string().replace(|c: char| c.is_ascii_digit(), "x") + &"y".repeat(number);
            causes.add(&"read".into(), &"a".into(), &word);
        }
        assert_eq!((causes.sorted().len(), causes.others()), (CAUSES, 5));
    }
}

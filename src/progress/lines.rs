//! Progress as plain lines, for logs.

use std::io::{self, Write};

use super::gauge;
use super::recent::Recent;
use super::tally::{StageTally, Tally};
use crate::units::{spoken_count, spoken_time};

/// Writes lines.
pub(super) struct Lines {
    out: Box<dyn Write + Send>,
    recent: Recent,
}

impl Lines {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out, recent: Recent::default() }
    }

    pub(super) fn say(&mut self, words: &str) -> io::Result<()> {
        self.out.write_all(format!("{words}\n").as_bytes())?;
        self.out.flush()
    }

    /// One line for how far the run is.
    pub(super) fn draw(&mut self, seconds: f64, tally: &Tally) -> io::Result<()> {
        let rate = self.recent.rate(seconds, tally.done + tally.failed);
        let words = format!(
            "{}{}{}{}",
            items(tally, rate),
            time_left(tally, rate),
            binding(tally),
            busy_stages(tally)
        );
        self.say(&format!("[{}] {words}", spoken_time(seconds)))
    }
}

/// `1,204 of 5,000 items, 3 failed, 10 skipped, 9.6/s`; `5,000+` while sources may give more.
pub(super) fn items(tally: &Tally, rate: f64) -> String {
    let more = if tally.is_listing() { "+" } else { "" };
    let (ended, listed) = (spoken_count(tally.ended_items()), spoken_count(tally.listed));
    let counts = counted(&[(tally.failed, "failed"), (tally.skipped, "skipped")]);
    format!("{ended} of {listed}{more} items{counts}, {rate:.1}/s")
}

/// `, about 3 m 20 s left` once the number of items is known and some came to an end.
pub(super) fn time_left(tally: &Tally, rate: f64) -> String {
    if tally.is_listing() || rate <= 0.0 {
        return String::new();
    }
    let left = tally.listed.saturating_sub(tally.ended_items());
    format!(", about {} left", spoken_time(left as f64 / rate))
}

/// `; cores binds`: the resource that keeps others waiting.
pub(super) fn binding(tally: &Tally) -> String {
    gauge::binding(&tally.gauges).map_or_else(String::new, |name| format!("; `{name}` binds"))
}

/// `; bands: 2 running, 30 waiting` for every stage that has work.
fn busy_stages(tally: &Tally) -> String {
    tally
        .stages
        .iter()
        .filter(|stage| stage.running > 0 || !stage.is_source() && tally.waiting(stage) > 0)
        .map(|stage| busy(tally, stage))
        .collect()
}

fn busy(tally: &Tally, stage: &StageTally) -> String {
    let (running, waiting) = (spoken_count(stage.running), spoken_count(tally.waiting(stage)));
    format!("; {}: {running} running, {waiting} waiting", stage.name)
}

/// `, 3 failed, 10 skipped`: what is not zero.
pub(super) fn counted(counts: &[(u64, &str)]) -> String {
    counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .flat_map(|(count, what)| [", ".to_owned(), spoken_count(*count), format!(" {what}")])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tally::tests::after_begin;
    use super::*;

    #[test]
    fn a_line_says_how_far_the_items_are_and_which_stages_have_work() {
        let tally = after_begin(
            r#"{"event":"item_listed","stage":"scenes","item":"a"}
            {"event":"item_listed","stage":"scenes","item":"b"}
            {"event":"item_listed","stage":"scenes","item":"c"}
            {"event":"source_ended","stage":"scenes","items":3}
            {"event":"stage_started","stage":"bands","item":"a","attempt":1,"waited":{"queue":0,"places":0}}
            {"event":"stage_started","stage":"bands","item":"b","attempt":1,"waited":{"queue":0,"places":0}}
            {"event":"stage_failed","stage":"bands","item":"a","attempt":1,"worked":1,"class":"item","message":"no CRS"}
            {"event":"item_failed","stage":"bands","item":"a","class":"item","message":"no CRS"}"#,
        );
        let line = format!("{}{}", items(&tally, 0.25), busy_stages(&tally));
        assert_eq!(line, "1 of 3 items, 1 failed, 0.2/s; bands: 1 running, 1 waiting");
    }

    #[test]
    fn nothing_is_said_of_idle_stages_and_a_plus_of_open_sources() {
        let tally = after_begin(r#"{"event":"item_skipped","item":"a","reason":"done"}"#);
        assert_eq!(
            format!("{}{}", items(&tally, 0.0), busy_stages(&tally)),
            "1 of 0+ items, 1 skipped, 0.0/s"
        );
    }
}

//! Progress as bars, for terminals: one for each stage and one for all items.

use std::io;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::display::Style;
use super::gauge;
use super::lines;
use super::recent::Recent;
use super::tally::{StageTally, Tally};
use crate::units::spoken_count;

/// Rows below the stages: all items, and the resources.
const SHARED_ROWS: usize = 2;
/// Draws a second.
const HERTZ: u8 = 10;

/// Draws bars on standard error.
pub(super) struct Bars {
    screen: MultiProgress,
    style: Style,
    rows: Vec<(ProgressBar, Recent)>,
}

impl Bars {
    pub(super) fn new(style: Style) -> Self {
        let screen = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(HERTZ));
        Self { screen, style, rows: Vec::new() }
    }

    /// Writes words above the bars.
    pub(super) fn say(&self, words: &str) -> io::Result<()> {
        self.screen.println(words)
    }

    pub(super) fn draw(&mut self, seconds: f64, tally: &Tally) {
        while self.rows.len() < tally.stages.len() + SHARED_ROWS {
            self.rows.push((self.screen.add(self.bar()), Recent::default()));
        }
        let width = tally.stages.iter().map(|stage| stage.name.chars().count()).max().unwrap_or(0).max(5);
        let (rows, shared) = self.rows.split_at_mut(tally.stages.len());
        for (stage, (bar, recent)) in tally.stages.iter().zip(rows) {
            let length = if stage.is_source() { tally.listed } else { tally.arrived(stage) };
            let rate = recent.rate(seconds, stage.finished);
            let position = stage.finished + stage.failed;
            show(bar, &format!("{:width$}", stage.name), (position, length), of_stage(tally, stage, rate));
        }
        let (items, recent) = &mut shared[0];
        let rate = recent.rate(seconds, tally.done + tally.failed);
        let left = lines::time_left(tally, rate);
        let message = format!("{}{left}{}", lines::items(tally, rate), lines::binding(tally));
        show(items, &format!("{:width$}", "items"), (tally.ended_items(), tally.listed), message);
        let (resources, _) = &shared[1];
        resources.set_style(plain());
        resources.set_message(gauge::in_use(&tally.gauges));
    }

    /// Takes the bars away.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.screen.clear()
    }

    fn bar(&self) -> ProgressBar {
        let colours = if self.style.is_coloured { ".cyan/blue" } else { "" };
        let template = format!("{{prefix}} {{bar:24{colours}}} {{wide_msg}}");
        let style = ProgressStyle::with_template(&template).expect("the template is fixed and valid");
        ProgressBar::new(0).with_style(style.progress_chars("━╸ "))
    }
}

/// A row that is words alone, cut where the terminal ends.
fn plain() -> ProgressStyle {
    ProgressStyle::with_template("{wide_msg}").expect("the template is fixed and valid")
}

fn show(bar: &ProgressBar, prefix: &str, (position, length): (u64, u64), message: String) {
    bar.set_prefix(prefix.to_owned());
    bar.set_length(length);
    bar.set_position(position);
    bar.set_message(message);
}

/// `12 done, 4 running, 30 waiting, 1 failed, 9.6/s`
fn of_stage(tally: &Tally, stage: &StageTally, rate: f64) -> String {
    let done = format!("{} done", spoken_count(stage.finished));
    if stage.is_source() {
        return done;
    }
    let counts = [(stage.running, "running"), (tally.waiting(stage), "waiting"), (stage.failed, "failed")];
    format!("{done}{}, {rate:.1}/s", lines::counted(&counts))
}

#[cfg(test)]
mod tests {
    use super::super::tally::tests::after_begin;
    use super::*;

    #[test]
    fn a_stage_tells_what_it_did_does_and_has_before_it() {
        let tally = after_begin(
            r#"{"event":"item_listed","stage":"scenes","item":"a"}
            {"event":"item_listed","stage":"scenes","item":"b"}
            {"event":"stage_started","stage":"bands","item":"a","attempt":1,"waited":{"queue":0,"places":0}}"#,
        );
        assert_eq!(of_stage(&tally, &tally.stages[0], 1.0), "2 done");
        assert_eq!(of_stage(&tally, &tally.stages[1], 1.0), "0 done, 1 running, 1 waiting, 1.0/s");
        assert_eq!(lines::time_left(&tally, 1.0), "", "more items may come");
    }

    #[test]
    fn time_left_is_what_is_left_over_the_rate() {
        let tally = after_begin(
            r#"{"event":"item_listed","stage":"scenes","item":"a"}
            {"event":"item_listed","stage":"scenes","item":"b"}
            {"event":"item_finished","item":"a"}
            {"event":"source_ended","stage":"scenes","items":2}"#,
        );
        assert_eq!(lines::time_left(&tally, 0.5), ", about 2.0 s left");
        assert_eq!(lines::time_left(&tally, 0.0), "");
    }

    #[test]
    fn bars_are_drawn_for_every_stage_and_all_items() {
        let mut bars = Bars::new(Style { is_coloured: true, is_verbose: false });
        bars.screen.set_draw_target(ProgressDrawTarget::hidden());
        bars.draw(1.0, &after_begin(r#"{"event":"item_listed","stage":"scenes","item":"a"}"#));
        assert_eq!(bars.rows.len(), 4, "two stages, the items, the resources");
        assert_eq!(bars.rows[2].0.message(), "0 of 1+ items, 0.0/s");
    }
}

//! Kills of the real program at random moments, each followed by a resume: nothing is lost, done twice or half-written.
//!
//! `GISRUN_KILLS` and `GISRUN_ITEMS` make the campaign longer than the 12 kills of runs of 60 items that it has here;
//! `tests/campaign/crash.sh` does so. `GISRUN_SEED` repeats the moments of an earlier campaign as well as a clock can.

#![allow(clippy::unwrap_used, reason = "a test stops at what cannot be")]
#![allow(clippy::disallowed_methods, reason = "how long a campaign is comes from outside")]

mod campaign;
mod state;

use campaign::Campaign;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn a_run_that_is_killed_again_and_again_ends_as_one_that_is_not() {
    let seed = setting("GISRUN_SEED", u64::from(std::process::id()));
    let mut campaign = Campaign::new(setting("GISRUN_ITEMS", 60), seed);
    let kills = setting("GISRUN_KILLS", 12);
    while campaign.kills < kills {
        campaign.round(kills.div_ceil(20).clamp(3, 10));
    }
    println!("seed {seed}: {campaign}");
    assert!(campaign.in_the_middle > 0, "no kill met a run that had begun and not ended: {campaign}");
}

//! The report as one HTML file that needs nothing else: its figures stand in it as JSON, and it asks no one for anything,
//! which its content security policy makes sure of.

use serde_json::json;

use super::account::Report;
use super::timeline::Timeline;

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page of a report and its timeline.
pub fn page(report: &Report, timeline: &Timeline) -> String {
    let data = json!({ "report": report, "timeline": timeline }).to_string();
    let title = report.runs.first().map_or_else(String::new, |run| format!("{} {}", run.pipeline, run.run));
    FRAME
        .replace("{{title}}", &escaped(&title))
        .replace("{{style}}", STYLE)
        .replace("{{script}}", SCRIPT)
        .replace("{{data}}", &inert(&data))
}

/// JSON that stands in a `script` element and cannot end it: `<` is written as JSON's own escape.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Event, FailureClass, Record};
    use crate::report::Digest;

    #[test]
    fn words_from_outside_cannot_leave_their_place() {
        let mut digest = Digest::default();
        let message = "</script><script>alert(1)</script>".to_owned();
        let (item, stage, class) = ("<b>".into(), "read".into(), FailureClass::Item);
        digest.add(&Record { ts: 0.0, event: Event::ItemFailed { item, stage, class, message } });
        let page = page(&Report::of(&[digest]), &Timeline::new(0.0, 1.0));
        assert!(!page.contains("</script><script>alert"));
        assert_eq!(page.matches("</script>").count(), 2, "the data and the program");
    }

    #[test]
    fn the_page_names_no_address() {
        let page = page(&Report::of(&[Digest::default()]), &Timeline::new(0.0, 1.0));
        let outside = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains("http://") && !outside.contains("https://") && !outside.contains("src="));
    }
}

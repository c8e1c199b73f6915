//! Reads a `run.jsonl`, of this machine or another, finished or cut.

use std::io::{self, BufRead, BufReader, Read};

use super::Record;

/// Why a line of a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The line is no event.
    #[error("line {line} is no event of a run")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// The records of a run, in order. A last line without its end is left out: the run was killed while it wrote.
/// Events of a newer version that are not known here are left out too.
///
/// # Errors
/// Each line that is no JSON object with an event.
pub fn read_records(file: impl Read) -> impl Iterator<Item = Result<Record, ReadError>> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let (mut line, mut number) = (String::new(), 0);
    std::iter::from_fn(move || {
        loop {
            line.clear();
            number += 1;
            match reader.read_line(&mut line) {
                Ok(_) if !line.ends_with('\n') => return None,
                Ok(_) => match parse(&line, number) {
                    Ok(None) => {}
                    other => return other.transpose(),
                },
                Err(error) => return Some(Err(error.into())),
            }
        }
    })
}

/// The record, or `None` for an event that is not known here.
fn parse(line: &str, number: usize) -> Result<Option<Record>, ReadError> {
    serde_json::from_str(line).map(Some).or_else(|source| {
        if is_unknown(line) { Ok(None) } else { Err(ReadError::Line { line: number, source }) }
    })
}

fn is_unknown(line: &str) -> bool {
    /// What every version of an event has.
    #[derive(serde::Deserialize)]
    struct Any {
        event: String,
    }
    serde_json::from_str::<Any>(line).is_ok_and(|any| !super::event::NAMES.contains(&any.event.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Event;

    fn read(text: &str) -> Vec<Result<Record, ReadError>> {
        read_records(text.as_bytes()).collect()
    }

    const FINISHED: &str = r#"{"ts":1717236000.25,"event":"item_finished","item":"a"}"#;

    #[test]
    fn a_line_is_an_event_with_its_time() {
        let record = read(&format!("{FINISHED}\n")).remove(0).unwrap();
        assert_eq!(record, Record { ts: 1_717_236_000.25, event: Event::ItemFinished { item: "a".into() } });
        assert_eq!(serde_json::to_string(&record).unwrap(), FINISHED);
    }

    #[test]
    fn a_cut_last_line_and_events_of_the_future_are_left_out() {
        let text = format!("{FINISHED}\n{{\"ts\":1,\"event\":\"item_painted\",\"item\":3}}\n{FINISHED}");
        assert_eq!(read(&text).len(), 1);
    }

    #[test]
    fn a_known_event_that_lacks_a_field_is_an_error_with_its_line() {
        let text = format!("{FINISHED}\n{{\"ts\":1,\"event\":\"item_finished\"}}\n{FINISHED}\n");
        let records = read(&text);
        assert!(records[0].is_ok() && records[2].is_ok());
        assert_eq!(records[1].as_ref().unwrap_err().to_string(), "line 2 is no event of a run");
    }

    #[test]
    fn the_names_are_those_of_the_events() {
        for name in crate::events::event::NAMES {
            let error =
                serde_json::from_str::<Record>(&format!(r#"{{"ts":1,"event":"{name}","#)).unwrap_err();
            assert!(!error.to_string().contains("unknown variant"), "{name}");
        }
    }

    const VERSION_1: &str = include_str!("fixtures/run-v1.jsonl");
    const VERSION_2: &str = include_str!("fixtures/run-v2.jsonl");

    fn all(text: &str) -> Vec<Record> {
        read(text).into_iter().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_record_of_version_1_loads() {
        let records = all(VERSION_1);
        assert_eq!(records.len(), VERSION_1.lines().count());
        assert!(matches!(&records[0].event, Event::RunStarted { version: 1, .. }));
        assert!(matches!(records.last().unwrap().event, Event::RunFinished { exit: 1, .. }));
        let sent_on = |record: &Record| matches!(record.event, Event::StageFinished { outputs: 1, .. });
        assert!(records.iter().any(sent_on), "what an old record does not tell has its plain meaning");
    }

    #[test]
    fn a_record_of_version_2_is_written_as_it_was_read() {
        let records = all(VERSION_2);
        assert!(matches!(&records[0].event, Event::RunStarted { version: crate::events::VERSION, .. }));
        for (record, line) in records.iter().zip(VERSION_2.lines()) {
            assert_eq!(serde_json::to_string(record).unwrap(), line);
        }
    }

    #[test]
    fn the_fixture_has_every_event() {
        for name in crate::events::event::NAMES {
            assert!(VERSION_2.contains(&format!("\"event\":\"{name}\"")), "{name}");
        }
    }
}

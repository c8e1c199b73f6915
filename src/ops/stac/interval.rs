//! Times of a search: what people write, widened to what the API takes.

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, SecondsFormat, Utc};

/// The `datetime` of a STAC API search (RFC 3339, or an interval of two with `..` for an open end). A year, month or day
/// stands for all of it, as an end for its last second.
pub(super) fn widened(text: &str) -> Result<String, String> {
    let Some((start, end)) = text.split_once('/') else {
        let (start, end) = bounds(text)?;
        return Ok(if start == end { shown(start) } else { format!("{}/{}", shown(start), shown(end)) });
    };
    let (start, end) = (open_or(start)?, open_or(end)?);
    match (start, end) {
        (None, None) => Err(format!("`{text}` is open at both ends; leave `datetime` out for all times")),
        (Some((start, _)), Some((_, end))) if start > end => Err(format!("`{text}` ends before it starts")),
        (start, end) => {
            let shown_or = |time: Option<DateTime<Utc>>| time.map_or_else(|| "..".to_owned(), shown);
            Ok(format!("{}/{}", shown_or(start.map(|(start, _)| start)), shown_or(end.map(|(_, end)| end))))
        }
    }
}

type Bounds = (DateTime<Utc>, DateTime<Utc>);

fn open_or(text: &str) -> Result<Option<Bounds>, String> {
    if text.is_empty() || text == ".." { Ok(None) } else { bounds(text).map(Some) }
}

/// The first and the last second that a text means.
fn bounds(text: &str) -> Result<Bounds, String> {
    let wrong = || {
        format!("`{text}` is no time; write for example `2024-06-01`, `2024-06` or `2024-06-01T10:00:00Z`")
    };
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        let time = time.with_timezone(&Utc);
        return Ok((time, time));
    }
    let (start, next) = days(text).ok_or_else(wrong)?;
    let midnight = |day: NaiveDate| day.and_hms_opt(0, 0, 0).map(|time| time.and_utc());
    let (start, next) = midnight(start).zip(midnight(next)).ok_or_else(wrong)?;
    Ok((start, next - chrono::Duration::seconds(1)))
}

/// The first day that a year, month or day means, and the first after it.
fn days(text: &str) -> Option<(NaiveDate, NaiveDate)> {
    let parse = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    match text.len() {
        4 => parse(&format!("{text}-01-01")).and_then(|day| Some((day, day.with_year(day.year() + 1)?))),
        7 => {
            parse(&format!("{text}-01")).and_then(|day| Some((day, day.checked_add_months(Months::new(1))?)))
        }
        10 => parse(text).and_then(|day| Some((day, day.checked_add_days(Days::new(1))?))),
        _ => None,
    }
}

fn shown(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use super::widened;

    #[test]
    fn dates_stand_for_all_of_their_time() {
        for (text, expected) in [
            ("2024-06-01/2024-06-30", "2024-06-01T00:00:00Z/2024-06-30T23:59:59Z"),
            ("2024-02", "2024-02-01T00:00:00Z/2024-02-29T23:59:59Z"),
            ("2023", "2023-01-01T00:00:00Z/2023-12-31T23:59:59Z"),
            ("2024-06-01T10:00:00+02:00", "2024-06-01T08:00:00Z"),
            ("../2024-01-01", "../2024-01-01T23:59:59Z"),
            ("2024-01-01T00:00:00.5Z/", "2024-01-01T00:00:00.500Z/.."),
        ] {
            assert_eq!(widened(text).expect(text), expected);
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "yesterday",
            "",
            "../..",
            "2024-13",
            "2024-02-30",
            "2024-06-30/2024-06-01",
            "24-1-1",
            "2024-06-01 10:00",
        ] {
            assert!(widened(text).is_err(), "{text}");
        }
    }
}

//! Numbers as one says them in messages; not parsed back.

/// Seconds as `850 ms`, `12.3 s`, `2 m 05 s`, `3 h 04 m`, `2 d 03 h`.
pub fn spoken_time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    if seconds < 0.9995 {
        format!("{:.0} ms", seconds * 1000.0)
    } else if seconds < 59.95 {
        format!("{seconds:.1} s")
    } else if whole < 3600 {
        format!("{} m {:02} s", whole / 60, whole % 60)
    } else if whole < 86_400 {
        format!("{} h {:02} m", whole / 3600, whole % 3600 / 60)
    } else {
        format!("{} d {:02} h", whole / 86_400, whole % 86_400 / 3600)
    }
}

/// A count with its thousands apart: `1,204`.
pub fn spoken_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units_at_most() {
        let cases = [
            (0.0, "0 ms"),
            (0.85, "850 ms"),
            (0.9999, "1.0 s"),
            (12.34, "12.3 s"),
            (59.97, "1 m 00 s"),
            (125.0, "2 m 05 s"),
            (11_040.0, "3 h 04 m"),
            (183_600.0, "2 d 03 h"),
        ];
        for (seconds, text) in cases {
            assert_eq!(spoken_time(seconds), text);
        }
    }

    #[test]
    fn thousands_stand_apart() {
        let cases =
            [(0, "0"), (999, "999"), (1_204, "1,204"), (123_456, "123,456"), (1_000_000, "1,000,000")];
        for (count, text) in cases {
            assert_eq!(spoken_count(count), text);
        }
    }
}

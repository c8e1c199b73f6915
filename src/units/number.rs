//! Decimal numbers of quantities, exact: digits are scaled as integers, never as floats.

/// Splits `"1.5 GiB"` into a decimal number and its unit; one space between them is allowed.
pub(super) fn split(text: &str) -> Option<(Decimal, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    Some((Decimal::parse(number)?, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// A number of at most 18 digits: `digits` ÷ 10^`places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u64,
    places: u32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return None,
            Some((whole, fraction)) => (whole, fraction),
            None => (text, ""),
        };
        let all = format!("{whole}{fraction}");
        let is_number = !whole.is_empty() && all.len() <= 18 && all.bytes().all(|c| c.is_ascii_digit());
        let digits = is_number.then(|| all.parse().ok())??;
        Some(Self { digits, places: fraction.len() as u32 })
    }

    /// The number × `factor`, rounded down; `None` above `u64::MAX`.
    pub(super) fn times(self, factor: u64) -> Option<u64> {
        let scaled = u128::from(self.digits) * u128::from(factor) / 10u128.pow(self.places);
        u64::try_from(scaled).ok()
    }

    /// The nearest float.
    pub(super) fn as_f64(self) -> f64 {
        self.digits as f64 / 10f64.powi(self.places as i32)
    }
}

/// A number with at most `places` decimals, trailing zeros cut.
pub(super) fn trimmed(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

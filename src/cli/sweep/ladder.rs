//! The sizes that are tried.

use crate::cli::limits::measure;

/// Sizes in the order in which they are tried, all of one kind.
#[derive(Debug, PartialEq)]
pub(super) struct Ladder {
    sizes: Vec<String>,
    is_search: bool,
}

impl Ladder {
    /// `1,2,4`, `256 MiB,1 GiB`: these; `2..32`: doubling from one count to another, until it brings nothing more.
    ///
    /// # Errors
    /// What is neither.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once("..") {
            Some((from, to)) => Self::doubling(text, from, to),
            None => Self::listed(text),
        }
    }

    fn doubling(text: &str, from: &str, to: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` is no span of counts, expected `FROM..TO` like `2..32`");
        let (from, to): (u64, u64) =
            (from.trim().parse().map_err(|_| expected())?, to.trim().parse().map_err(|_| expected())?);
        if from == 0 || to < from {
            return Err(expected());
        }
        let mut sizes: Vec<u64> = std::iter::successors(Some(from), |size| size.checked_mul(2))
            .take_while(|size| *size < to)
            .collect();
        sizes.push(to);
        Ok(Self { sizes: sizes.iter().map(u64::to_string).collect(), is_search: true })
    }

    fn listed(text: &str) -> Result<Self, String> {
        let sizes: Vec<String> = text.split(',').map(|size| size.trim().to_owned()).collect();
        let kinds: Vec<_> = sizes.iter().map(|size| measure(size).map(|(kind, _)| kind)).collect();
        if let Some(at) = kinds.iter().position(Option::is_none) {
            let wrong = &sizes[at];
            return Err(format!(
                "`{wrong}` is no size, expected a count like `4`, a size like `2 GiB` or a rate like `5/s`"
            ));
        }
        if kinds.iter().any(|kind| *kind != kinds[0]) {
            return Err(format!("the sizes `{text}` are not of one kind"));
        }
        Ok(Self { sizes, is_search: false })
    }

    pub(super) fn sizes(&self) -> &[String] {
        &self.sizes
    }

    /// Whether it ends once more brings nothing.
    pub(super) fn is_search(&self) -> bool {
        self.is_search
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_listed_or_doubled() {
        assert_eq!(Ladder::parse("1, 2,8").unwrap().sizes(), ["1", "2", "8"]);
        assert_eq!(Ladder::parse("3..20").unwrap().sizes(), ["3", "6", "12", "20"]);
        assert_eq!(Ladder::parse("4..4").unwrap().sizes(), ["4"]);
        assert!(Ladder::parse("2..32").unwrap().is_search() && !Ladder::parse("2,32").unwrap().is_search());
        assert_eq!(Ladder::parse("1 MiB,1 GiB").unwrap().sizes(), ["1 MiB", "1 GiB"]);
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "0..4", "8..2", "a..b", "1,,2", "1,2 GiB", "many"] {
            assert!(Ladder::parse(text).is_err(), "{text}");
        }
    }
}

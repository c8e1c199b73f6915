//! `--limit NAME=SIZE`: another size of a resource, for this run alone.

use crate::config::{AsWritten, ResourceForm, Share, SizeForm, Spanned, nearest};
use crate::plan;
use crate::units::{ByteSize, RateLimit};

/// Puts the sizes in the place of those that the pipeline declares, or of the defaults.
///
/// # Errors
/// A name that is no resource, and a size of another kind than the resource has.
pub(super) fn apply(written: &mut AsWritten, limits: &[(String, String)]) -> Result<(), String> {
    limits.iter().try_for_each(|(name, size)| replace(written, name, size))
}

fn replace(written: &mut AsWritten, name: &str, size: &str) -> Result<(), String> {
    let form = parse(size).ok_or_else(|| {
        format!("`{size}` is no size of `{name}`, expected a count like `4`, a size like `2 GiB` or a rate like `5/s`")
    })?;
    let declared = written.resources.iter_mut().find(|(declared, _)| declared.value.as_str() == name);
    let Some((_, before)) = declared else { return declare(written, name, form) };
    require_kind(name, kind(before), &form)?;
    *before = match (form, &*before) {
        (ResourceForm::Rate { limit, .. }, ResourceForm::Rate { burst, per_host, .. }) => {
            ResourceForm::Rate { limit, burst: burst.clone(), per_host: *per_host }
        }
        (form, _) => form,
    };
    Ok(())
}

/// A resource that the pipeline does not declare has a default.
fn declare(written: &mut AsWritten, name: &str, form: ResourceForm) -> Result<(), String> {
    let Some(expected) = plan::default_kind(name) else {
        let declared = written.resources.iter().map(|(name, _)| name.value.as_str());
        let meant = nearest(name, declared.chain(plan::DEFAULT_NAMES.iter().copied()));
        let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        return Err(format!("no resource is called `{name}`{meant}"));
    };
    require_kind(name, expected, &form)?;
    written.resources.push((Spanned::new(name.into(), 0..0), form));
    Ok(())
}

fn require_kind(name: &str, expected: &str, form: &ResourceForm) -> Result<(), String> {
    let found = kind(form);
    if expected == found {
        return Ok(());
    }
    Err(format!("`{name}` is a resource of `{expected}`, found a size of `{found}`"))
}

/// A size as it stands in an argument: its form tells its kind.
fn parse(size: &str) -> Option<ResourceForm> {
    let spanned = |limit| Spanned::new(limit, 0..0);
    if let Ok(count) = size.parse::<u64>() {
        return (count > 0).then(|| ResourceForm::Slots(Spanned::new(SizeForm::Fixed(count), 0..0)));
    }
    if let Ok(bytes) = size.parse::<ByteSize>() {
        return Some(ResourceForm::Bytes(Spanned::new(Share::Size(bytes), 0..0)));
    }
    let limit = size.parse::<RateLimit>().ok()?;
    Some(ResourceForm::Rate { limit: spanned(limit), burst: None, per_host: false })
}

/// The kind of a resource, as the pipeline writes it.
fn kind(form: &ResourceForm) -> &'static str {
    match form {
        ResourceForm::Slots(_) => "slots",
        ResourceForm::Bytes(_) => "bytes",
        ResourceForm::Rate { .. } => "rate",
    }
}

/// The kind and the number of a size: slots, bytes, or tokens a second.
pub(super) fn measure(size: &str) -> Option<(&'static str, f64)> {
    let form = parse(size)?;
    let number = match &form {
        ResourceForm::Slots(Spanned { value: SizeForm::Fixed(count), .. }) => *count as f64,
        ResourceForm::Bytes(Spanned { value: Share::Size(bytes), .. }) => bytes.0 as f64,
        ResourceForm::Rate { limit, .. } => limit.value.per_second(),
        ResourceForm::Slots(_) | ResourceForm::Bytes(_) => return None,
    };
    Some((kind(&form), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_size_tells_its_kind() {
        assert_eq!(measure("4"), Some(("slots", 4.0)));
        assert_eq!(measure("2 KiB"), Some(("bytes", 2048.0)));
        assert_eq!(measure("5/s"), Some(("rate", 5.0)));
        assert_eq!(measure("0"), None);
        assert_eq!(measure("many"), None);
    }
}

//! Values of list files as JSON, which properties are made of.

use parquet::record::{Field, Row};
use serde_json::{Map, Number, Value as Json};

/// A cell as a number or a truth value where its text is exactly one, so that conditions can compare it; else as text.
/// Empty cells are no value.
pub(super) fn cell_value(cell: &str) -> Option<Json> {
    match cell {
        "" => None,
        "true" => Some(true.into()),
        "false" => Some(false.into()),
        text => {
            let number =
                serde_json::from_str::<Number>(text).ok().filter(|number| number.to_string() == text);
            Some(number.map_or_else(|| text.into(), Json::Number))
        }
    }
}

/// A field of a Parquet row as a property; nulls are no value.
pub(super) fn field_value(field: &Field) -> Option<Json> {
    let value = match field {
        Field::Bool(value) => (*value).into(),
        Field::Byte(value) => (*value).into(),
        Field::Short(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) => (*value).into(),
        Field::UByte(value) => (*value).into(),
        Field::UShort(value) => (*value).into(),
        Field::UInt(value) => (*value).into(),
        Field::ULong(value) => (*value).into(),
        Field::Float(value) => return Number::from_f64(f64::from(*value)).map(Json::Number),
        Field::Double(value) => return Number::from_f64(*value).map(Json::Number),
        Field::Str(text) => text.as_str().into(),
        Field::TimestampMillis(millis) => timestamp(chrono::DateTime::from_timestamp_millis(*millis)?),
        Field::TimestampMicros(micros) => timestamp(chrono::DateTime::from_timestamp_micros(*micros)?),
        Field::Group(row) => fields(row),
        Field::ListInternal(list) => {
            list.elements().iter().map(|field| field_value(field).unwrap_or_default()).collect()
        }
        // Bytes (a geometry, say) and maps are nothing that a property can be.
        Field::Null | Field::Bytes(_) | Field::MapInternal(_) => return None,
        other => other.to_string().into(),
    };
    Some(value)
}

fn fields(row: &Row) -> Json {
    let values = row.get_column_iter().filter_map(|(name, field)| Some((name.clone(), field_value(field)?)));
    Json::Object(values.collect::<Map<_, _>>())
}

/// A time as STAC writes it.
fn timestamp(time: chrono::DateTime<chrono::Utc>) -> Json {
    time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true).into()
}

/// A text, number or truth value as text; `None` for the rest and for empty text.
pub(super) fn scalar_text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

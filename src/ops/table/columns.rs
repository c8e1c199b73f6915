//! The columns of a table: the union of those of all rows, and the type that holds the values of each.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::contract::Row;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// None are there.
    Nothing,
    /// Truth values.
    Bool,
    /// Whole numbers that fit 64 bits with sign.
    Int,
    /// Numbers.
    Float,
    /// Texts, and all that fits nothing else.
    Text,
}

impl Type {
    fn of(value: &Json) -> Self {
        match value {
            Json::Null => Type::Nothing,
            Json::Bool(_) => Type::Bool,
            Json::Number(number) if number.is_i64() => Type::Int,
            Json::Number(number) if number.is_f64() => Type::Float,
            Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => Type::Text,
        }
    }

    /// The type for the values of both.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Type::Nothing, some) | (some, Type::Nothing) => some,
            (Type::Int, Type::Float) | (Type::Float, Type::Int) => Type::Float,
            _ => Type::Text,
        }
    }
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Type,
}

/// The columns in the order in which they first appear.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    columns: Vec<Column>,
    places: HashMap<String, usize>,
}

impl Columns {
    /// Takes a row's columns in.
    pub(super) fn add(&mut self, row: &Row) {
        for (name, value) in row {
            let kind = Type::of(value);
            if let Some(&place) = self.places.get(name) {
                let column = &mut self.columns[place];
                column.kind = column.kind.with(kind);
            } else {
                self.places.insert(name.clone(), self.columns.len());
                self.columns.push(Column { name: name.clone(), kind });
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter()
    }

    /// A row's value in each column, as the column's type has it.
    pub(super) fn values<'a>(&self, row: &'a Row) -> Vec<Option<Cell<'a>>> {
        let mut values = vec![None; self.columns.len()];
        for (name, value) in row {
            if let Some(&place) = self.places.get(name) {
                values[place] = Cell::of(value, self.columns[place].kind);
            }
        }
        values
    }
}

/// One value, as its column's type has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(std::borrow::Cow<'a, str>),
}

impl<'a> Cell<'a> {
    fn of(value: &'a Json, kind: Type) -> Option<Self> {
        match (kind, value) {
            (_, Json::Null) | (Type::Nothing, _) => None,
            (Type::Bool, value) => value.as_bool().map(Cell::Bool),
            (Type::Int, value) => value.as_i64().map(Cell::Int),
            (Type::Float, value) => value.as_f64().map(Cell::Float),
            (Type::Text, Json::String(text)) => Some(Cell::Text(text.as_str().into())),
            (Type::Text, value) => Some(Cell::Text(value.to_string().into())),
        }
    }

    /// The value as JSON.
    pub(super) fn to_json(&self) -> Json {
        match self {
            Cell::Bool(value) => Json::from(*value),
            Cell::Int(value) => Json::from(*value),
            Cell::Float(value) => Json::from(*value),
            Cell::Text(value) => Json::from(value.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(cells: &[(&str, Json)]) -> Row {
        cells.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn columns_are_the_union_in_order_with_the_type_that_holds_all() {
        let rows = [
            row(&[("id", json!("a")), ("n", json!(1)), ("x", json!(1)), ("empty", Json::Null)]),
            row(&[("id", json!("b")), ("late", json!(true)), ("x", json!(0.5)), ("n", Json::Null)]),
            row(&[("mixed", json!(1)), ("large", json!(u64::MAX))]),
            row(&[("mixed", json!("one"))]),
        ];
        let mut columns = Columns::default();
        for row in &rows {
            columns.add(row);
        }
        let found: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.kind)).collect();
        assert_eq!(
            found,
            [
                ("id", Type::Text),
                ("n", Type::Int),
                ("x", Type::Float),
                ("empty", Type::Nothing),
                ("late", Type::Bool),
                ("mixed", Type::Text),
                ("large", Type::Text),
            ]
        );
        let third = columns.values(&rows[2]);
        assert_eq!(third[5], Some(Cell::Text("1".into())));
        assert_eq!(third[6], Some(Cell::Text("18446744073709551615".into())));
        assert_eq!(columns.values(&rows[0])[2], Some(Cell::Float(1.0)));
    }
}

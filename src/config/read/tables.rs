//! How the reader walks lists, tables and variants.

use std::slice::Iter;

use serde::de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, Visitor};

use super::mistake::Mistake;
use super::reader::{KeyReader, Reader};
use crate::config::{Span, Spanned, Table, Value};

/// The values of a list.
pub(super) struct ListAccess<'a> {
    values: Iter<'a, Value>,
}

impl<'a> ListAccess<'a> {
    pub(super) fn new(values: &'a [Value]) -> Self {
        Self { values: values.iter() }
    }
}

impl<'de> SeqAccess<'de> for ListAccess<'_> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        self.values.next().map(|value| seed.deserialize(Reader::new(value))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len())
    }
}

/// The entries of a table.
pub(super) struct TableAccess<'a> {
    entries: Iter<'a, (Spanned<String>, Value)>,
    value: Option<&'a Value>,
}

impl<'a> TableAccess<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        Self { entries: table.entries.iter(), value: None }
    }
}

impl<'de> MapAccess<'de> for TableAccess<'_> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(KeyReader { key: &key.value, span: &key.span }).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mistake> {
        let value = self.value.take().expect("serde asks for a key before its value");
        seed.deserialize(Reader::new(value))
    }
}

/// A variant: its name, and its value where it has one.
pub(super) struct VariantAccess<'a> {
    name: &'a str,
    span: &'a Span,
    value: Option<&'a Value>,
}

impl<'a> VariantAccess<'a> {
    pub(super) fn unit(name: &'a str, span: &'a Span) -> Self {
        Self { name, span, value: None }
    }

    pub(super) fn with(name: &'a Spanned<String>, value: &'a Value) -> Self {
        Self { name: &name.value, span: &name.span, value: Some(value) }
    }

    fn required(&self, expected: &str) -> Result<Reader<'a>, Mistake> {
        let found = Unexpected::Str(self.name);
        self.value.map(Reader::new).ok_or_else(|| Mistake::invalid_type(found, &expected))
    }
}

impl<'de> EnumAccess<'de> for VariantAccess<'_> {
    type Error = Mistake;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mistake> {
        let name = seed.deserialize(KeyReader { key: self.name, span: self.span })?;
        Ok((name, self))
    }
}

impl<'de> serde::de::VariantAccess<'de> for VariantAccess<'_> {
    type Error = Mistake;

    fn unit_variant(self) -> Result<(), Mistake> {
        match self.value {
            None => Ok(()),
            Some(value) => Err(Mistake::invalid_type(Unexpected::Map, &"a text").at(&value.span)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mistake> {
        seed.deserialize(self.required("a table of one key")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Mistake> {
        serde::Deserializer::deserialize_tuple(self.required("a table of one key")?, len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        serde::Deserializer::deserialize_map(self.required("a table of one key")?, visitor)
    }
}

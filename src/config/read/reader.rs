//! A serde deserializer over one value of the tree. Every error that leaves it carries a place.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::mistake::Mistake;
use super::tables::{ListAccess, TableAccess, VariantAccess};
use crate::config::spanned::{ONE_OR_MANY, SPANNED};
use crate::config::{Span, Value, ValueKind};

/// Reads one value.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    value: &'a Value,
}

impl<'a> Reader<'a> {
    pub(super) fn new(value: &'a Value) -> Self {
        Self { value }
    }

    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.value.kind {
            ValueKind::String(text) | ValueKind::Datetime(text) => visitor.visit_str(text),
            ValueKind::Integer(number) => visitor.visit_i64(*number),
            ValueKind::Float(number) => visitor.visit_f64(*number),
            ValueKind::Boolean(flag) => visitor.visit_bool(*flag),
            ValueKind::Array(values) => visitor.visit_seq(ListAccess::new(values)),
            ValueKind::Table(table) => visitor.visit_map(TableAccess::new(table)),
        }
    }

    fn visit_variant<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.value.kind {
            ValueKind::String(name) => visitor.visit_enum(VariantAccess::unit(name, &self.value.span)),
            ValueKind::Table(table) => match table.entries.as_slice() {
                [(name, value)] => visitor.visit_enum(VariantAccess::with(name, value)),
                entries => Err(Mistake::invalid_length(entries.len(), &"a table of one key")),
            },
            _ => self.visit(visitor),
        }
    }

    /// What `Spanned` and `OneOrMany` ask by their names.
    fn visit_one_or_many<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.value.kind {
            ValueKind::Array(values) => visitor.visit_seq(ListAccess::new(values)),
            _ => visitor.visit_seq(ListAccess::new(std::slice::from_ref(self.value))),
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.visit(visitor).map_err(|mistake| mistake.at(&self.value.span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.visit_variant(visitor).map_err(|mistake| mistake.at(&self.value.span))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match name {
            ONE_OR_MANY => self.visit_one_or_many(visitor).map_err(|mistake| mistake.at(&self.value.span)),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match name {
            SPANNED => visitor.visit_seq(PlaceAccess { span: &self.value.span, rest: Some(self), told: 0 }),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map identifier ignored_any
    }
}

/// Reads a key: a text with a place.
pub(super) struct KeyReader<'a> {
    pub(super) key: &'a str,
    pub(super) span: &'a Span,
}

impl<'de> Deserializer<'de> for KeyReader<'_> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_str(self.key).map_err(|mistake: Mistake| mistake.at(self.span))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match name {
            SPANNED => {
                let key = StrDeserializer::new(self.key);
                visitor.visit_seq(PlaceAccess { span: self.span, rest: Some(key), told: 0 })
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let key = StrDeserializer::<Mistake>::new(self.key);
        visitor.visit_enum(key).map_err(|mistake| mistake.at(self.span))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// The three parts of a `Spanned`: start, end, value.
struct PlaceAccess<'a, R> {
    span: &'a Span,
    rest: Option<R>,
    told: u8,
}

impl<'de, R: Deserializer<'de, Error = Mistake>> SeqAccess<'de> for PlaceAccess<'_, R> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        self.told += 1;
        match self.told {
            1 => seed.deserialize(PositionReader(self.span.start)).map(Some),
            2 => seed.deserialize(PositionReader(self.span.end)).map(Some),
            _ => self.rest.take().map(|rest| seed.deserialize(rest)).transpose(),
        }
        .map_err(|mistake| mistake.at(self.span))
    }
}

/// One end of a span.
struct PositionReader(usize);

impl<'de> Deserializer<'de> for PositionReader {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_u64(self.0 as u64)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

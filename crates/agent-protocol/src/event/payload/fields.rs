//! Reading a payload, with the name of the field that does not fit.

use std::cell::Cell;
use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, MapAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::{Error, Value};

use crate::{EventType, Object};

/// What is wrong with a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field; none where the message names it, or where the payload as a whole does not fit.
    pub field: Option<String>,
    /// What is wrong. It may quote what is stored.
    pub message: String,
}

impl FieldError {
    /// A field that this payload leaves out.
    #[must_use]
    pub fn missing(field: &'static str) -> Self {
        Self { field: None, message: format!("missing field `{field}`") }
    }

    pub(super) fn other_type(wanted: EventType) -> Self {
        Self { field: None, message: format!("it is no {} event", wanted.as_str()) }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = &self.field {
            write!(f, "at \"{field}\": ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for FieldError {}

pub(super) fn read<T: DeserializeOwned>(payload: &Object) -> Result<T, FieldError> {
    let at = Cell::new(None);
    T::deserialize(Fields { payload, at: &at })
        .map_err(|error| FieldError { field: at.get().map(str::to_owned), message: error.to_string() })
}

/// The fields of a payload; `at` is the one that is being read.
struct Fields<'de, 'c> {
    payload: &'de Object,
    at: &'c Cell<Option<&'de str>>,
}

impl<'de> Deserializer<'de> for Fields<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(Entries { rest: self.payload.iter(), value: None, at: self.at })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Entries<'de, 'c> {
    rest: serde_json::map::Iter<'de>,
    value: Option<&'de Value>,
    at: &'c Cell<Option<&'de str>>,
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        // Behind the last field it is the whole that does not fit.
        let Some((key, value)) = self.rest.next() else {
            self.at.set(None);
            return Ok(None);
        };
        self.at.set(Some(key));
        self.value = Some(value);
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.value.take().unwrap_or(&Value::Null))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

//! Reading a payload, with the name of the field that does not fit.

use std::cell::RefCell;
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

/// Reads a payload as if these fields were in it as well.
pub(super) fn read<T: DeserializeOwned>(payload: &Object, more: &Object) -> Result<T, FieldError> {
    let path = RefCell::new(Vec::new());
    let read = T::deserialize(Fields { object: payload, more: Some(more), path: &path });
    read.map_err(|error| {
        let path = path.take();
        FieldError { field: (!path.is_empty()).then(|| path.join(".")), message: error.to_string() }
    })
}

/// The keys that lead to what is being read. Where reading fails they stay as they are.
type Path<'de> = RefCell<Vec<&'de str>>;

struct Fields<'de, 'c> {
    object: &'de Object,
    more: Option<&'de Object>,
    path: &'c Path<'de>,
}

impl<'de> Deserializer<'de> for Fields<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let rest = self.object.iter().chain(self.more.into_iter().flatten());
        visitor.visit_map(Entries { rest, value: None, path: self.path })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.object.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Entries<'de, 'c, I> {
    rest: I,
    value: Option<(&'de str, &'de Value)>,
    path: &'c Path<'de>,
}

impl<'de, I: Iterator<Item = (&'de String, &'de Value)>> MapAccess<'de> for Entries<'de, '_, I> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some((key, value));
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some((key, value)) = self.value.take() else { return seed.deserialize(&Value::Null) };
        self.path.borrow_mut().push(key);
        let read = match value {
            Value::Object(object) => seed.deserialize(Fields { object, more: None, path: self.path }),
            other => seed.deserialize(other),
        };
        if read.is_ok() {
            self.path.borrow_mut().pop();
        }
        read
    }
}

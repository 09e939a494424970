//! The members of a JSON object in order, with each value preserved byte for byte.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap as _,
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// The members of an object. A name may occur more than once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields<'a>(pub(crate) Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'a> Fields<'a> {
    /// Parses the members of a value; empty if it is not an object.
    pub(crate) fn of(value: Option<&'a RawValue>) -> Self {
        value.and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default()
    }

    /// Returns the value of a member.
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Deserialises a member; `None` if it is `null` or missing.
    pub(crate) fn read<T: Deserialize<'a>>(&self, name: &str) -> serde_json::Result<Option<T>> {
        match self.0.iter().find(|(known, _)| known == name) {
            Some((_, Cow::Borrowed(value))) => serde_json::from_str(value.get()),
            _ => Ok(None),
        }
    }

    /// Removes these members.
    pub(crate) fn without(mut self, names: &[&str]) -> Self {
        self.0.retain(|(name, _)| !names.contains(&name.as_ref()));
        self
    }

    /// Replaces the value of a member, or appends the member.
    pub(crate) fn set(&mut self, name: &str, value: &impl Serialize) {
        let value = serde_json::value::to_raw_value(value).expect("strings and JSON values always serialise");
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = Cow::Owned(value),
            None => self.0.push((Cow::Owned(name.to_owned()), Cow::Owned(value))),
        }
    }

    /// Returns whether all other members than these are empty: `null` or `[]`.
    pub(crate) fn is_empty_except(&self, names: &[&str]) -> bool {
        self.0
            .iter()
            .all(|(name, value)| names.contains(&name.as_ref()) || matches!(value.get(), "null" | "[]"))
    }

    /// The size of all names and values, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.get().len()).sum()
    }

    /// Returns whether there are no members.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copies the members, so that they outlive the text they were parsed from.
    pub(crate) fn into_owned(self) -> Fields<'static> {
        let owned = |(name, value): (Cow<'_, str>, Cow<'_, RawValue>)| {
            (Cow::Owned(name.into_owned()), Cow::Owned(value.into_owned()))
        };
        Fields(self.0.into_iter().map(owned).collect())
    }

    /// Serialises the members as an object.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and JSON values always serialise")
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name.as_ref(), &**value)?;
        }
        map.end()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<'a>(std::marker::PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
            type Value = Fields<'a>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields<'a>, M::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    members.push((Cow::Owned(name), Cow::Borrowed(map.next_value::<&'de RawValue>()?)));
                }
                Ok(Fields(members))
            }
        }

        deserializer.deserialize_map(Members(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_bytes() {
        let text = r#"{"z":1.00,"a":"\u00e9","m":{ "x" : [ ] }}"#;
        let fields: Fields<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(fields.to_json(), text);
        assert_eq!(fields.get("a").unwrap().get(), r#""\u00e9""#);
        let mut fields = fields.without(&["z"]);
        fields.set("a", &"b");
        fields.set("n", &1);
        assert_eq!(fields.to_json(), r#"{"a":"b","m":{ "x" : [ ] },"n":1}"#);
    }
}

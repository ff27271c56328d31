//! The macro that declares a section.

/// Declares a table of the configuration: struct, default, walker and reference rows from one list of keys.
///
/// Each line reads `key: Type = default, rule;`. Without a default the key is required; without a rule its type alone
/// decides. The doc comment is the key's meaning in rustdoc and in the reference.
macro_rules! section {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $field:ident : $ty:ty $(= $default:expr)? $(, $rule:expr)? ;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $( $(#[doc = $doc])* pub $field: $ty, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: section!(@default $($default)?) ),* }
            }
        }

        impl $crate::schema::Field for $name {
            type Rule = ();

            fn blank() -> Self {
                Self::default()
            }

            fn absorb(&mut self, node: &$crate::tree::Node, at: &str, (): (), report: &mut $crate::schema::Report) {
                let Some(entries) = report.entries(node, at) else { return };
                for entry in entries {
                    let here = report.enter(at, entry);
                    $(
                        if entry.key == stringify!($field) {
                            let rule = section!(@rule $($rule)?);
                            $crate::schema::Field::absorb(&mut self.$field, &entry.node, &here, rule, report);
                            continue;
                        }
                    )*
                    report.unknown_key(at, entry, &[$( stringify!($field) ),*]);
                }
                $(
                    if section!(@required $($default)?) {
                        let kind = <$ty as $crate::schema::Field>::kind(section!(@rule $($rule)?));
                        report.require(node, entries, at, stringify!($field), &kind);
                    }
                )*
            }

            fn value(&self) -> Option<$crate::tree::Value> {
                let entries = [
                    $( (stringify!($field), $crate::schema::Field::value(&self.$field)) ),*
                ];
                let set = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
                Some($crate::tree::Value::table(set))
            }

            fn kind((): ()) -> String {
                "a table".to_owned()
            }

            fn rows(&self, at: &str, doc: $crate::schema::Doc, (): (), rows: &mut Vec<$crate::schema::Row>) {
                rows.push($crate::schema::Row {
                    key: at.to_owned(),
                    kind: Self::kind(()),
                    default: None,
                    doc,
                    table: true,
                });
                $(
                    let doc = $crate::schema::Doc {
                        meaning: concat!($($doc, "\n"),*),
                        required: section!(@required $($default)?),
                    };
                    let here = $crate::schema::join(at, stringify!($field));
                    $crate::schema::Field::rows(&self.$field, &here, doc, section!(@rule $($rule)?), rows);
                )*
            }
        }
    };
    (@default) => { $crate::schema::Field::blank() };
    (@default $default:expr) => { $default };
    (@required) => { true };
    (@required $default:expr) => { false };
    (@rule) => { Default::default() };
    (@rule $rule:expr) => { $rule };
}

pub(crate) use section;

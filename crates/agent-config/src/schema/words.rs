//! The macro that declares a closed set of words.

/// Declares an enum whose values are words in the file: `Allow = "allow"`.
macro_rules! words {
    (
        $(#[doc = $about:literal])*
        pub enum $name:ident {
            $( $(#[doc = $doc:literal])* $variant:ident = $word:literal, )+
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $( $(#[doc = $doc])* $variant, )+
        }

        impl $name {
            /// All of them, in the order of the reference.
            pub const ALL: &[Self] = &[$( Self::$variant ),+];

            /// The word as it stands in the file.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$variant => $word, )+
                }
            }
        }

        impl $crate::schema::Field for $name {
            type Rule = ();

            fn blank() -> Self {
                Self::ALL[0]
            }

            fn absorb(&mut self, node: &$crate::tree::Node, at: &str, (): (), report: &mut $crate::schema::Report) {
                match &node.value {
                    $( $crate::tree::Value::Text(text) if text == $word => *self = Self::$variant, )+
                    _ => report.wrong_value(node, at, Self::kind(())),
                }
            }

            fn value(&self) -> Option<$crate::tree::Value> {
                Some($crate::tree::Value::Text(self.as_str().to_owned()))
            }

            fn kind((): ()) -> String {
                $crate::schema::one_of(&[$( $word ),+])
            }
        }
    };
}

pub(crate) use words;

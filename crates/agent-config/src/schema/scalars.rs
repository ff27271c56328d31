//! Values without parts: numbers, booleans, strings.

use super::rule::{Real, Switch, Text, Whole};
use super::{Field, Report};
use crate::tree::{Node, Value};

macro_rules! whole_numbers {
    ($($int:ty),*) => {$(
        impl Field for $int {
            type Rule = Whole;

            fn blank() -> Self {
                0
            }

            fn absorb(&mut self, node: &Node, at: &str, rule: Whole, report: &mut Report) {
                let Value::Whole(found) = node.value else {
                    let example = in_bounds::<$int>((*self).into(), rule).map_or(String::new(), |n| format!(" such as {n}"));
                    return report.wrong_value(node, at, format!("{}{example}", rule.noun()));
                };
                match in_bounds(found, rule) {
                    Some(found) => *self = found,
                    None => report.wrong_value(node, at, rule.bounded()),
                }
            }

            fn value(&self) -> Option<Value> {
                Some(Value::Whole((*self).into()))
            }

            fn kind(rule: Whole) -> String {
                rule.bounded()
            }
        }
    )*};
}

whole_numbers!(u32, u64);

fn in_bounds<T: TryFrom<i128>>(found: i128, rule: Whole) -> Option<T> {
    let fits = (i128::from(rule.min)..=i128::from(rule.max)).contains(&found);
    fits.then(|| T::try_from(found).ok()).flatten()
}

impl Field for f64 {
    type Rule = Real;

    fn blank() -> Self {
        0.0
    }

    fn absorb(&mut self, node: &Node, at: &str, rule: Real, report: &mut Report) {
        let found = match node.value {
            Value::Real(found) => found,
            // Numbers that a float cannot hold exactly are beyond every bound.
            Value::Whole(found) => found as f64,
            _ => return report.wrong_value(node, at, Self::kind(rule)),
        };
        // NaN is in no range.
        if (rule.min..=rule.max).contains(&found) {
            *self = found;
        } else {
            report.wrong_value(node, at, Self::kind(rule));
        }
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Real(*self))
    }

    fn kind(rule: Real) -> String {
        format!("a number from {} to {}", rule.min, rule.max)
    }
}

impl Field for bool {
    type Rule = Switch;

    fn blank() -> Self {
        false
    }

    fn absorb(&mut self, node: &Node, at: &str, rule: Switch, report: &mut Report) {
        match (&node.value, rule) {
            (Value::Switch(true), _) => *self = true,
            (Value::Switch(false), Switch::Either) => *self = false,
            _ => report.wrong_value(node, at, Self::kind(rule)),
        }
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Switch(*self))
    }

    fn kind(rule: Switch) -> String {
        match rule {
            Switch::Either => "true or false".to_owned(),
            Switch::OnlyTrue(why) => format!("true ({why})"),
        }
    }
}

impl Field for String {
    type Rule = Text;

    fn blank() -> Self {
        String::new()
    }

    fn absorb(&mut self, node: &Node, at: &str, rule: Text, report: &mut Report) {
        let Value::Text(text) = &node.value else {
            return report.wrong_value(node, at, Self::kind(rule));
        };
        match (rule.check)(text) {
            Ok(()) => self.clone_from(text),
            Err(refusal) => match refusal.found(text) {
                None => report.wrong_value(node, at, Self::kind(rule)),
                Some(found) => report.wrong_value_said(node, at, Self::kind(rule), &found),
            },
        }
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Text(self.clone()))
    }

    fn kind(rule: Text) -> String {
        rule.noun.to_owned()
    }
}

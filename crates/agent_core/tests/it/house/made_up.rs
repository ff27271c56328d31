//! The analysis on made-up sources: what it must see, and what it must not.

use std::collections::BTreeMap;
use std::path::Path;

use super::module_tree::ModuleTree;

/// A crate of these files, below `src`.
fn tree(files: &[(&str, &str)]) -> ModuleTree {
    let files: BTreeMap<_, _> = files.iter().map(|(name, text)| (Path::new("src").join(name), *text)).collect();
    ModuleTree::read(Path::new("src/lib.rs"), &|path| files.get(path).map(|text| (*text).to_owned()))
}

/// The circles of these files, each by its modules alone.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let told = tree(files).circles();
    told.iter().map(|circle| circle.split(" (").next().unwrap().to_owned()).collect()
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(circles(files), expected);
}

/// Who uses whom, each with the path that says so.
fn uses(files: &[(&str, &str)]) -> Vec<String> {
    let tree = tree(files);
    let told = |((from, to), written): (&(usize, usize), &String)| {
        format!("{} -> {} by {written}", tree.path(*from), tree.path(*to))
    };
    tree.uses().iter().map(told).collect()
}

#[test]
fn siblings_in_a_ring() {
    let lib = ("lib.rs", "mod a; mod b; mod c;");
    check(
        &[lib, ("a.rs", "use crate::b::B; pub struct A;"), ("b.rs", "pub struct B(u8);"), ("c.rs", "use crate::a::A;")],
        &[],
    );
    let ring = [
        lib,
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use super::c::C; pub struct B;"),
        ("c.rs", "fn c(a: crate::a::A) {} pub struct C;"),
    ];
    check(&ring, &["crate::a -> crate::b -> crate::c"]);
    let told = tree(&ring).circles();
    assert!(told[0].contains("crate::c names crate::a::A"), "{told:?}");
}

/// No two files use each other here, but the folders do.
#[test]
fn a_circle_of_folders() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod x; mod y;"),
        ("a/x.rs", "use crate::b::z::Z;"),
        ("a/y.rs", "pub struct Y;"),
        ("b/mod.rs", "pub mod z; mod w;"),
        ("b/z.rs", "pub struct Z;"),
        ("b/w.rs", "use crate::a::y::Y;"),
    ];
    check(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b;"), ("b.rs", "")], &[]);
    check(&files, &["crate::a -> crate::b"]);
}

#[test]
fn a_parent_and_its_child() {
    let child = ("a/x.rs", "use super::A; pub fn x(a: A) {}");
    let lib = ("lib.rs", "mod a;");
    check(&[lib, ("a.rs", "mod x; pub struct A; fn f() { x::x(A) }"), child], &["crate::a -> crate::a::x"]);
    // Handing on is no use, and what is handed on is not the parent's.
    check(&[lib, ("a.rs", "mod x; pub use x::x; pub struct A;"), child], &[]);
    check(&[lib, ("a.rs", "mod x; mod y; pub use y::A; fn f() { x::x(A) }"), child, ("a/y.rs", "pub struct A;")], &[]);
    check(
        &[
            lib,
            ("a.rs", "mod x; mod y; use y::A; fn f(a: A) {}"),
            child,
            ("a/y.rs", "pub struct A; fn f() { super::x::x(A) }"),
        ],
        &["crate::a::x -> crate::a::y"],
    );
}

#[test]
fn a_use_in_whatever_form() {
    for code in [
        "use crate::b::B;",
        "use crate::b::{self, B as C};",
        "use super::*; fn f(b: b::B) {}",
        "use super::b::*; fn f(b: B) {}",
        // Only its traits may be meant.
        "use super::b::*;",
        "fn f() -> Option<crate::b::B> { None }",
        "fn f() { let x = super::b::B; }",
        "fn f() { use crate::b as c; c::B; }",
        "impl From<u8> for A { fn from(x: u8) -> Self { crate::b::B; A } }",
        "fn f() { println!(\"{}\", format!(\"{:?}\", crate::b::B)); }",
        "macro_rules! m { () => { $crate::b::B }; }",
        "#[derive(X)] struct S { #[serde(with = \"crate::b::B\")] x: u8 }",
        "use crate::Handed;",
        "use crate::everything::B;",
        "b_macro!();",
        "fn f() { vec![b_macro!()]; }",
        "mod inside { fn f() { crate::b::B } }",
    ] {
        let a = format!("{code} pub struct A;");
        let lib = "#[macro_use] mod b; mod a; pub use b::B as Handed; pub mod everything { pub use super::b::*; }";
        let b = "macro_rules! b_macro { () => {} } pub struct B; use super::a::A;";
        assert_eq!(circles(&[("lib.rs", lib), ("a.rs", &a), ("b.rs", b)]), ["crate::b -> crate::a"], "{code}");
    }
}

/// A macro of a parent needs no import.
#[test]
fn a_macro_from_above() {
    let files = [("lib.rs", "macro_rules! m { () => {} } mod a; fn f() { a::a() }"), ("a.rs", "m!(); pub fn a() {}")];
    check(&files, &["crate -> crate::a"]);
}

#[test]
fn what_is_no_use() {
    for code in [
        "// use crate::b::B;",
        "/* crate::b::B */",
        "/// [`crate::b::B`]\nfn f() {}",
        "const X: &str = \"crate::b::B\";",
        "fn f(b: ::b::B) {}",
        "fn f(b: other::B) { b.b(); }",
        "pub(in crate::b) fn f() {}",
        "#[cfg(test)] use crate::b::B;",
        "#[cfg(all(test, unix))] mod tests { use crate::b::B; }",
        "#[cfg(test)] impl A { fn f() { crate::b::B; } }",
        "impl A { #[cfg(test)] fn f() { crate::b::B; } }",
        "struct S { #[cfg(test)] b: crate::b::B }",
        "fn f() { #[cfg(test)] let b = crate::b::B; }",
        "#[test] fn f() { crate::b::B; }",
    ] {
        let a = format!("{code}\npub struct A;");
        check(&[("lib.rs", "mod a; mod b;"), ("a.rs", &a), ("b.rs", "use crate::a::A; pub struct B;")], &[]);
    }
}

/// What ships behind a test module is seen, and so is what only a feature brings.
#[test]
fn code_behind_tests() {
    let lib = ("lib.rs", "mod a; mod b;");
    let b = ("b.rs", "use crate::a::A; pub struct B;");
    for code in [
        "pub struct A; #[cfg(test)] mod tests { use super::*; } fn f() { crate::b::B; }",
        "pub struct A; impl A { #[cfg(test)] fn t() {} fn f() { crate::b::B; } }",
        "pub struct A; #[cfg(any(test, feature = \"x\"))] fn f() { crate::b::B; }",
        "pub struct A; #[cfg(not(test))] fn f() { crate::b::B; }",
    ] {
        check(&[lib, ("a.rs", code), b], &["crate::a -> crate::b"]);
    }
    check(&[lib, ("a.rs", "#[cfg(test)] mod tests; pub struct A;"), b], &[]);
}

#[test]
fn names_lead_to_where_things_are_defined() {
    let files = [
        ("lib.rs", "mod a; mod b; mod near; pub use b::*; use near::near;"),
        (
            "a.rs",
            "use crate::{C, near}; fn f() { near::other(); E::One; } use crate::b::deep::E; fn g(m: crate::near::Made) {}",
        ),
        ("b/mod.rs", "pub mod deep; pub use self::deep::{D as C, E};"),
        ("b/deep.rs", "pub struct D; pub enum E { One }"),
        ("near.rs", "pub fn near() {} pub fn other() {} make!(Made);"),
    ];
    assert_eq!(
        uses(&files),
        [
            "crate -> crate::near by near::near",
            "crate::a -> crate::b::deep by E::One",
            "crate::a -> crate::near by crate::near::Made",
        ]
    );
}

#[test]
fn files_are_found_where_the_compiler_finds_them() {
    let files = [
        ("lib.rs", "mod a; #[path = \"elsewhere/q.rs\"] mod p; mod inside { mod deep; }"),
        ("a/mod.rs", "mod x;"),
        ("a/x.rs", "mod y;"),
        ("a/x/y.rs", "use crate::p::P;"),
        ("elsewhere/q.rs", "pub struct P;"),
        ("inside/deep.rs", "use crate::p::P;"),
    ];
    assert_eq!(
        uses(&files),
        ["crate::a::x::y -> crate::p by crate::p::P", "crate::inside::deep -> crate::p by crate::p::P"]
    );
}

#[test]
fn what_is_named_outside() {
    let files = [
        ("lib.rs", "mod a; use std::fs as files; use tokio;"),
        (
            "a.rs",
            "use std::{env::{self, consts::*}, time::Instant}; use super::files; #[cfg(test)] use std::net;
             fn f() { env::var(\"X\"); Instant::now(); super::files::read(\"x\"); files::write(\"y\"); vec![rand::random()]; }",
        ),
    ];
    let mut named: Vec<_> = tree(&files).outside().into_iter().map(|(_, named)| named).collect();
    named.retain(|named| named.contains("::"));
    named.sort_unstable();
    named.dedup();
    assert_eq!(
        named,
        [
            "rand::random",
            "std::env",
            "std::env::consts::*",
            "std::env::var",
            "std::fs",
            "std::fs::read",
            "std::fs::write",
            "std::time::Instant",
            "std::time::Instant::now",
        ]
    );
}

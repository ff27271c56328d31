use super::{Part, fits, parts};

#[track_caller]
fn check(word: &str, patterns: &[&str], anything: bool) {
    let parts = parts(word);
    for pattern in patterns {
        assert!(parts.contains(&Part::Pattern((*pattern).to_owned())), "{word}: {pattern} not in {parts:?}");
    }
    assert_eq!(parts.contains(&Part::Anything), anything, "{word}: {parts:?}");
    assert!(!patterns.is_empty() || anything || parts.is_empty(), "{word}: {parts:?}");
}

/// PRM-4: what a shell would make a name of.
#[test]
fn what_words_may_come_to() {
    check("sh *.sh", &["*.sh"], false);
    check("sh x.s?", &["x.s?"], false);
    check("sh x.[a-z]h", &["x.*h"], false);
    check("sh [[:alpha:]].sh", &["*.sh"], false);
    check("sh [[:alpha:][:digit:]].sh", &["**.sh"], false);
    check("sh ~+/x.sh", &["x.sh"], false);
    check("sh {x,y}.sh", &["*.sh"], false);
    check("sh x\\ y.sh", &["x?y.sh"], false);
    check("sh x\"y\".sh", &["xy.sh"], false);
    check("\"$PWD\"/x.sh", &["x.sh"], false);
    check("${PWD}/d/*.sh", &["d/*.sh"], false);
    check("sh a=*.sh", &["a=*.sh", "*.sh"], false);
    check("a.*b", &["a.*b"], false);
    for word in ["sh $a$b", "sh $a.sh", "sh a${b}", "sh ${x%y}", "sh $(ls)", "sh `ls`", "sh $'x.sh'", "sh a/$b/x.sh"] {
        check(word, &[], true);
    }
    for word in ["make && ls", "fn main", "a::b", "{print $1}", "echo $x; exec $y", "^a|b$", "{ ls; }"] {
        check(word, &[], false);
    }
}

#[test]
fn names_that_fit() {
    for (pattern, name, expected) in [
        ("*.sh", "x.sh", true),
        ("*.sh", ".sh", true),
        ("*.sh", "x.sh.py", false),
        ("x?y", "x y", true),
        ("x?y", "xy", false),
        ("a*b*c", "aXbXbXc", true),
        ("a*b*c", "aXbX", false),
        ("*", "", true),
        ("", "x", false),
        ("é?", "éé", true),
    ] {
        assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
    }
}

//! Packaged texts by id.

macro_rules! assets {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $file:literal;)*) => {
        /// A packaged text. The ids are stable names; files and wording may change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AssetId {
            $($(#[$doc])* $name,)*
        }

        impl AssetId {
            /// Every packaged text.
            pub const ALL: &'static [AssetId] = &[$(AssetId::$name,)*];

            /// The id, as nodes and events record it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(AssetId::$name => $id,)* }
            }

            fn file(self) -> &'static str {
                match self { $(AssetId::$name => include_str!(concat!("../assets/", $file)),)* }
            }
        }
    };
}

assets! {
    /// What the agent is there for.
    SystemCore = "system.core", "prompts/system/core.md";
    /// How tools are used.
    SystemToolProtocol = "system.tool_protocol", "prompts/system/tool_protocol.md";
    /// How longer work is laid out.
    SystemTodo = "system.todo", "prompts/system/todo.md";
    /// What asks the user.
    SystemPermissions = "system.permissions", "prompts/system/permissions.md";
    /// The configuration to start from.
    TemplateConfig = "template.config.default", "templates/config_default.toml";
}

/// A packaged text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Which one.
    pub id: AssetId,
    /// Counts the changes of its meaning; recorded wherever the text is used.
    pub version: u32,
    /// The text.
    pub text: &'static str,
}

impl AssetId {
    /// The text and its version.
    #[must_use]
    pub fn load(self) -> Asset {
        let file = self.file();
        let (first, rest) = file.split_once('\n').unwrap_or((file, ""));
        let version = version(first);
        // In Markdown the version stands in a comment that is not part of the text.
        let text = if first.starts_with("<!--") { rest } else { file };
        Asset { id: self, version, text: text.trim_end() }
    }
}

impl Asset {
    /// `id@version`, as `source` of a prompt block and in events.
    #[must_use]
    pub fn source(&self) -> String {
        format!("{}@{}", self.id.as_str(), self.version)
    }
}

/// The number after the word "version" in a file's first line; 0 where there is none, which a test refuses.
fn version(line: &str) -> u32 {
    let digits: String =
        line.split("version ").nth(1).unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AST-1, AST-3: every text is there, has a version and a title, and is finished.
    #[test]
    fn texts_are_finished() {
        for id in AssetId::ALL {
            let asset = id.load();
            assert!(asset.version >= 1, "{} has no version in its first line", id.as_str());
            let first = asset.text.lines().next().unwrap();
            assert!(first.starts_with("# "), "{}: the first line is its title: {first}", id.as_str());
            assert!(asset.text.len() > 80, "{} is too short to be of use", id.as_str());
            for unfinished in ["TODO", "FIXME", "to be written", "lorem ipsum"] {
                assert!(!asset.text.contains(unfinished), "{} holds {unfinished}", id.as_str());
            }
            assert!(!asset.text.contains("<!--"), "{}", id.as_str());
        }
    }

    /// CTX-8: the model is told what comes before what.
    #[test]
    fn precedence_is_said() {
        let text = AssetId::SystemCore.load().text;
        let line = text.lines().find(|line| line.contains("disagree")).unwrap();
        let order = ["these rules", "permissions", "current message", "everything else"];
        let places: Vec<_> = order.iter().map(|word| line.find(word).unwrap()).collect();
        assert!(places.is_sorted(), "{line}");
    }

    /// AST-2: the ids of what exists so far.
    #[test]
    fn ids() {
        let ids: Vec<_> = AssetId::ALL.iter().map(|id| id.as_str()).collect();
        assert_eq!(
            ids,
            ["system.core", "system.tool_protocol", "system.todo", "system.permissions", "template.config.default"]
        );
        assert_eq!(AssetId::SystemCore.load().source(), "system.core@1");
    }
}

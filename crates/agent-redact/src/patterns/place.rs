//! Where a secret stands.

/// Where a pair stands, which says how much its name alone means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `DB_PASSWORD=x`: a variable of the environment.
    Environment,
    /// `--password x`, `--password=x`: an option of a command.
    Option,
    /// `?token=x&`, `;Password=x;`: in a URL, a form or a connection string.
    Query,
    /// Anywhere else, source code for example.
    Plain,
}

//! A server's address, checked once (PRV-17).

use reqwest::Url;

use crate::{ProviderError, ProviderSettings};

/// The base URL of a server.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    base: Url,
    loopback: bool,
}

impl Endpoint {
    /// Checks the address, and that a key may travel to it.
    pub(crate) fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, ProviderError> {
        let invalid = |reason: String| ProviderError::InvalidBaseUrl { provider: provider.to_owned(), reason };
        let base = Url::parse(settings.base_url.trim()).map_err(|error| invalid(unreadable(error)))?;
        match base.scheme() {
            "http" | "https" => {}
            // What stands before the colon is a host's name.
            _ if !settings.base_url.contains("://") => return Err(invalid(NO_SCHEME.to_owned())),
            other => return Err(invalid(format!("it begins with {other}:// instead of http:// or https://"))),
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(invalid("it holds a user name or password; name a variable in api_key_env instead".to_owned()));
        }
        let Some(host) = base.host_str() else {
            return Err(invalid("it names no host".to_owned()));
        };
        if base.port() == Some(0) {
            return Err(invalid(PORT.to_owned()));
        }
        let loopback = is_loopback(&base);
        if settings.api_key.is_some() && base.scheme() == "http" && !loopback && !settings.allow_insecure {
            return Err(ProviderError::InsecureKey { provider: provider.to_owned(), host: host.to_owned() });
        }
        Ok(Self { loopback, base })
    }

    /// Whether the server is on this machine: no proxy, longer patience.
    pub(crate) fn is_loopback(&self) -> bool {
        self.loopback
    }

    /// Whether TLS is needed.
    pub(crate) fn is_secure(&self) -> bool {
        self.base.scheme() == "https"
    }

    pub(crate) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.base.path().trim_end_matches('/')
    }

    /// The address of something below the base. A query in the base stays: some gateways want one.
    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.path()));
        url
    }

    /// The address for people: no query, which may hold secrets.
    pub(crate) fn shown(&self) -> String {
        let mut url = self.base.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.as_str().trim_end_matches('/').to_owned()
    }
}

const NO_SCHEME: &str = "it does not begin with http:// or https://";

const PORT: &str = "its port is no number from 1 to 65535";

/// Why a text is no address.
fn unreadable(error: url::ParseError) -> String {
    match error {
        url::ParseError::RelativeUrlWithoutBase => NO_SCHEME.to_owned(),
        url::ParseError::EmptyHost => "it names no host".to_owned(),
        url::ParseError::InvalidPort => PORT.to_owned(),
        other => other.to_string(),
    }
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<std::net::IpAddr>() {
        // 0.0.0.0 is what a server is told to listen on; to connect to, it means this machine.
        Ok(std::net::IpAddr::V4(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Ok(std::net::IpAddr::V6(ip)) => {
            ip.is_loopback() || ip.is_unspecified() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeySource;

    fn settings(url: &str, key: bool) -> ProviderSettings {
        let mut settings = ProviderSettings::new(url);
        settings.api_key = key.then(|| KeySource::new("K", "w", "n", || None));
        settings
    }

    #[track_caller]
    fn refused(url: &str, key: bool, reason: &str) {
        let error = Endpoint::new("openai", &settings(url, key)).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(error.payload().code, agent_protocol::ErrorCode::ConfigError);
    }

    #[test]
    fn paths_are_joined() {
        for (base, expected) in [
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434/api/chat"),
            ("http://127.0.0.1:11434/", "http://127.0.0.1:11434/api/chat"),
            ("https://h/v1/?api-version=1", "https://h/v1/api/chat?api-version=1"),
        ] {
            assert_eq!(Endpoint::new("x", &settings(base, false)).unwrap().url("api/chat").as_str(), expected);
        }
    }

    #[test]
    fn loopback_is_this_machine() {
        for (url, expected) in [
            ("http://127.0.0.1", true),
            ("http://127.9.9.9:1", true),
            ("http://[::1]:1", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("http://0.0.0.0:11434", true),
            ("http://LOCALHOST:1", true),
            ("http://ollama.localhost", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example.com", false),
            ("http://127.0.0.1.example.com", false),
        ] {
            assert_eq!(Endpoint::new("x", &settings(url, false)).unwrap().is_loopback(), expected, "{url}");
        }
    }

    /// PRV-17: a key over plain http to another host is refused, unless the user allows it.
    #[test]
    fn a_key_does_not_travel_in_clear_text() {
        refused("http://10.0.0.1/v1", true, "sent unencrypted to 10.0.0.1");
        for url in ["http://127.0.0.1/v1", "https://10.0.0.1/v1"] {
            assert!(Endpoint::new("openai", &settings(url, true)).is_ok());
        }
        assert!(Endpoint::new("openai", &settings("http://10.0.0.1/v1", false)).is_ok());
        let allowed = ProviderSettings { allow_insecure: true, ..settings("http://10.0.0.1/v1", true) };
        assert!(Endpoint::new("openai", &allowed).is_ok());
    }

    /// PRV-18: what is shown of an address holds no query, and addresses with passwords are refused without echo.
    #[test]
    fn addresses_hold_no_secrets() {
        let endpoint = Endpoint::new("x", &settings("https://h/v1?key=sk-1#f", false)).unwrap();
        assert_eq!(endpoint.shown(), "https://h/v1");
        let error = Endpoint::new("x", &settings("https://me:sk-1@h/v1", false)).unwrap_err();
        assert!(!error.to_string().contains("sk-1"));
        refused("ftp://h", false, "ftp://");
        refused("127.0.0.1:11434", false, "it does not begin with http:// or https://");
        refused("localhost:11434", false, "it does not begin with http:// or https://");
        for port in ["99999", "65536", "0", "x"] {
            refused(&format!("http://h:{port}/v1"), false, "its port is no number from 1 to 65535");
        }
    }
}

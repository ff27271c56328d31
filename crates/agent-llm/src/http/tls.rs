//! TLS for the HTTP client. Only `https` pays for roots; and no process-wide crypto provider is installed, so that two
//! runtimes in one process never meet.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::ClientConfig;
use rustls::crypto::ring;

/// For `https`: the system's certificates, and Mozilla's for machines that have none.
pub(super) fn secure() -> Result<ClientConfig, rustls::Error> {
    let crypto = Arc::new(ring::default_provider());
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned();
    let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(roots, crypto.clone())?;
    let mut config = ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// For plain `http`: the client wants a configuration, but it trusts nobody and costs nothing.
pub(super) fn unused() -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

#[cfg(test)]
mod tests {
    /// Both can be made on any machine, also one without a certificate store.
    #[test]
    fn configurations_can_be_made() {
        assert_eq!(super::secure().unwrap().alpn_protocols.len(), 2);
        super::unused().unwrap();
    }
}

//! Tokens that say by their first letters what they are.

use super::bytes::{is_base64, is_base64_url, is_word};
use super::cut::Cut;
use super::shape;
use super::window::Window;

/// A kind of token: how it begins and what may follow.
pub(super) struct Token {
    pub(super) prefix: &'static str,
    marker: &'static str,
    body: fn(u8) -> bool,
    /// Bytes after the prefix. Fewer than the whole token has, because text may be cut off.
    min: usize,
}

const fn token(prefix: &'static str, marker: &'static str, body: fn(u8) -> bool, min: usize) -> Token {
    Token { prefix, marker, body, min }
}

impl Token {
    /// More of the same bytes would be a token too, so that a marker may follow.
    pub(super) fn look(&self, window: &Window<'_>, cuts: &mut Vec<Cut>) {
        if !window.has(window.start, self.prefix.as_bytes()) || !window.begins(window.start, is_word) {
            return;
        }
        let enough = window.run_within(window.end, self.min, self.body);
        if enough - window.end == self.min && shape::is_generated(&window.text[window.end..enough]) {
            let end = window.run(enough, self.body);
            cuts.push(Cut { range: window.start..end - trailing(&window.text[enough..end]), marker: self.marker });
        }
    }
}

/// Dots at the end belong to the sentence.
fn trailing(body: &[u8]) -> usize {
    body.iter().rev().take_while(|&&byte| byte == b'.').count()
}

fn alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn dotted(byte: u8) -> bool {
    is_base64_url(byte) || byte == b'.'
}

/// Slack's may be written as in a URL.
fn slack(byte: u8) -> bool {
    dotted(byte) || byte == b'%'
}

fn any_base64(byte: u8) -> bool {
    is_base64(byte) || is_base64_url(byte)
}

const GITHUB: &str = "[redacted github token]";
const GITLAB: &str = "[redacted gitlab token]";
const SLACK: &str = "[redacted slack token]";
const STRIPE: &str = "[redacted stripe key]";
const DIGITAL_OCEAN: &str = "[redacted digitalocean token]";
const SHOPIFY: &str = "[redacted shopify token]";
const VAULT: &str = "[redacted vault token]";
const DOPPLER: &str = "[redacted doppler token]";
const SENTRY: &str = "[redacted sentry token]";
const PLANETSCALE: &str = "[redacted planetscale secret]";
const SQUARE: &str = "[redacted square token]";
const LANGSMITH: &str = "[redacted langsmith key]";
const DOCKER: &str = "[redacted docker token]";
const GRAFANA: &str = "[redacted grafana token]";

pub(super) const TOKENS: &[Token] = &[
    token("ghp_", GITHUB, is_word, 20),
    token("gho_", GITHUB, is_word, 20),
    token("ghu_", GITHUB, is_word, 20),
    // Those of apps may hold a JWT.
    token("ghs_", GITHUB, dotted, 20),
    token("ghr_", GITHUB, is_word, 20),
    token("github_pat_", GITHUB, is_word, 30),
    // Some hold their routing after dots.
    token("glpat-", GITLAB, dotted, 16),
    token("gldt-", GITLAB, dotted, 16),
    token("glrt-", GITLAB, dotted, 16),
    token("glptt-", GITLAB, dotted, 16),
    token("glcbt-", GITLAB, dotted, 16),
    token("glft-", GITLAB, dotted, 16),
    token("glimt-", GITLAB, dotted, 16),
    token("glsoat-", GITLAB, dotted, 16),
    token("gloas-", GITLAB, dotted, 16),
    token("glagent-", GITLAB, dotted, 16),
    token("xoxa-", SLACK, slack, 20),
    token("xoxb-", SLACK, slack, 20),
    token("xoxc-", SLACK, slack, 20),
    token("xoxd-", SLACK, slack, 20),
    token("xoxe-", SLACK, slack, 20),
    token("xoxe.", SLACK, slack, 20),
    token("xoxo-", SLACK, slack, 20),
    token("xoxp-", SLACK, slack, 20),
    token("xoxr-", SLACK, slack, 20),
    token("xoxs-", SLACK, slack, 20),
    token("xapp-", SLACK, slack, 16),
    token("sk_live_", STRIPE, alnum, 16),
    token("sk_test_", STRIPE, alnum, 16),
    token("rk_live_", STRIPE, alnum, 16),
    token("rk_test_", STRIPE, alnum, 16),
    token("whsec_", "[redacted webhook secret]", is_base64, 20),
    token("AIza", "[redacted google api key]", is_base64_url, 30),
    token("GOCSPX-", "[redacted google client secret]", is_base64_url, 20),
    token("ya29.", "[redacted google access token]", dotted, 20),
    token("1//0", "[redacted google refresh token]", is_base64_url, 30),
    token("npm_", "[redacted npm token]", alnum, 30),
    token("pypi-", "[redacted pypi token]", is_base64_url, 40),
    token("hf_", "[redacted hugging face token]", alnum, 30),
    token("api_org_", "[redacted hugging face token]", alnum, 30),
    token("dop_v1_", DIGITAL_OCEAN, hex, 32),
    token("doo_v1_", DIGITAL_OCEAN, hex, 32),
    token("dor_v1_", DIGITAL_OCEAN, hex, 32),
    token("dapi", "[redacted databricks token]", hex, 32),
    token("shpat_", SHOPIFY, hex, 32),
    token("shpca_", SHOPIFY, hex, 32),
    token("shppa_", SHOPIFY, hex, 32),
    token("shpss_", SHOPIFY, hex, 32),
    token("hvs.", VAULT, is_base64_url, 20),
    token("hvb.", VAULT, is_base64_url, 20),
    token("dp.pt.", DOPPLER, alnum, 30),
    token("dp.st.", DOPPLER, dotted, 30),
    token("sntrys_", SENTRY, any_base64, 30),
    token("sntryu_", SENTRY, hex, 32),
    token("pscale_pw_", PLANETSCALE, dotted, 32),
    token("pscale_tkn_", PLANETSCALE, dotted, 32),
    token("sq0atp-", SQUARE, is_base64_url, 20),
    token("sq0csp-", SQUARE, is_base64_url, 20),
    token("lsv2_pt_", LANGSMITH, is_word, 32),
    token("lsv2_sk_", LANGSMITH, is_word, 32),
    token("dckr_pat_", DOCKER, is_base64_url, 20),
    token("dckr_oat_", DOCKER, is_base64_url, 20),
    token("glsa_", GRAFANA, is_word, 30),
    token("glc_", GRAFANA, any_base64, 40),
    token("lin_api_", "[redacted linear key]", alnum, 30),
    token("ntn_", "[redacted notion token]", alnum, 30),
    token("PMAK-", "[redacted postman key]", is_base64_url, 32),
    token("NRAK-", "[redacted new relic key]", alnum, 24),
    token("AGE-SECRET-KEY-1", "[redacted age key]", alnum, 40),
    token("gsk_", "[redacted groq key]", alnum, 40),
    token("xai-", "[redacted xai key]", alnum, 40),
    token("pplx-", "[redacted perplexity key]", alnum, 40),
    token("nvapi-", "[redacted nvidia key]", is_base64_url, 40),
    token("r8_", "[redacted replicate token]", alnum, 32),
    token("e2b_", "[redacted e2b key]", hex, 32),
    token("tvly-", "[redacted tavily key]", is_base64_url, 24),
    token("phx_", "[redacted posthog key]", alnum, 36),
    token("fm2_", "[redacted fly token]", is_base64, 40),
    token("ATATT3", "[redacted atlassian token]", any_base64, 40),
    token("sbp_", "[redacted supabase token]", hex, 32),
    token("rubygems_", "[redacted rubygems key]", hex, 40),
    token("cio", "[redacted cargo registry token]", alnum, 32),
    token("figd_", "[redacted figma token]", is_base64_url, 30),
    token("tskey-", "[redacted tailscale key]", is_base64_url, 20),
    token("dt0c01.", "[redacted dynatrace token]", dotted, 32),
    token("CFPAT-", "[redacted contentful token]", is_base64_url, 32),
];

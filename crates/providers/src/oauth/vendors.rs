//! The addresses of vendors whose sign-in is known. Settings override them, field by field; the
//! client id is always the owner's own.

#[derive(Clone, Copy, Debug)]
pub struct VendorLogin {
    /// The common beginning of the addresses below, so that all of them can be moved at once.
    pub issuer: &'static str,
    pub device: Option<VendorDevice>,
    pub browser: Option<VendorBrowser>,
    pub token_url: &'static str,
    pub scopes: &'static [&'static str],
    pub account_url: Option<&'static str>,
    pub exchange_url: Option<&'static str>,
    /// The address that revokes tokens (RFC 7009).
    pub revoke_url: Option<&'static str>,
    /// The header in which requests name the account.
    pub account_header: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
pub struct VendorDevice {
    pub url: &'static str,
    pub form: DeviceForm,
}

#[derive(Clone, Copy, Debug)]
pub enum DeviceForm {
    /// The form of RFC 8628.
    Standard,
    /// OpenAI's form, with JSON in requests and answers. Polling returns a code and its verifier,
    /// which are redeemed like a browser's.
    OpenAi { poll: &'static str, redirect: &'static str, verification: &'static str },
}

#[derive(Clone, Copy, Debug)]
pub struct VendorBrowser {
    pub authorize_url: &'static str,
    pub redirect: VendorRedirect,
    /// Whether the code is bound to a secret of this sign-in (RFC 7636). A maker that does not
    /// support this refuses the secret.
    pub pkce: bool,
    /// Fields that the maker requires beside those of the standard.
    pub extra: &'static [(&'static str, &'static str)],
}

/// The address that the browser returns to.
#[derive(Clone, Copy, Debug)]
pub enum VendorRedirect {
    /// A port of this machine, as it is registered there.
    ThisMachine(&'static str),
    /// A page of the gateway; its address comes with the request that begins the sign-in.
    Gateway,
}

/// GitHub exchanges the token of its sign-in for a short-lived one of Copilot.
pub(crate) const GITHUB_COPILOT: VendorLogin = VendorLogin {
    issuer: "",
    device: Some(VendorDevice {
        url: "https://github.com/login/device/code",
        form: DeviceForm::Standard,
    }),
    browser: None,
    token_url: "https://github.com/login/oauth/access_token",
    scopes: &["read:user"],
    account_url: Some("https://api.github.com/user"),
    exchange_url: Some("https://api.github.com/copilot_internal/v2/token"),
    revoke_url: None,
    account_header: None,
};

/// The sign-in of OpenAI's own Codex: in a browser, or with a code.
pub(crate) const CHATGPT: VendorLogin = VendorLogin {
    issuer: "https://auth.openai.com",
    device: Some(VendorDevice {
        url: "https://auth.openai.com/api/accounts/deviceauth/usercode",
        form: DeviceForm::OpenAi {
            poll: "https://auth.openai.com/api/accounts/deviceauth/token",
            redirect: "https://auth.openai.com/deviceauth/callback",
            verification: "https://auth.openai.com/codex/device",
        },
    }),
    browser: Some(VendorBrowser {
        authorize_url: "https://auth.openai.com/oauth/authorize",
        redirect: VendorRedirect::ThisMachine("http://localhost:1455/auth/callback"),
        pkce: true,
        extra: &[("id_token_add_organizations", "true"), ("codex_cli_simplified_flow", "true")],
    }),
    token_url: "https://auth.openai.com/oauth/token",
    scopes: &["openid", "profile", "email", "offline_access"],
    account_url: None,
    exchange_url: None,
    revoke_url: None,
    account_header: Some("chatgpt-account-id"),
};

/// An application of LinkedIn's own portal. LinkedIn recognises the client by a secret, and answers
/// `invalid_client` to a code with a verifier.
pub(crate) const LINKEDIN: VendorLogin = VendorLogin {
    issuer: "https://www.linkedin.com",
    device: None,
    browser: Some(VendorBrowser {
        authorize_url: "https://www.linkedin.com/oauth/v2/authorization",
        redirect: VendorRedirect::Gateway,
        pkce: false,
        extra: &[],
    }),
    token_url: "https://www.linkedin.com/oauth/v2/accessToken",
    scopes: &["openid", "profile", "email", "w_member_social"],
    account_url: None,
    exchange_url: None,
    revoke_url: Some("https://www.linkedin.com/oauth/v2/revoke"),
    account_header: None,
};

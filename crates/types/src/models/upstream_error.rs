/// What a provider said when it refused, for clients that speak a maker's wire and act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamError {
    pub status: u16,
    pub code: Option<String>,
    /// What the wires call `type`.
    pub kind: Option<String>,
    pub param: Option<String>,
    /// How long to wait, and what is left of its limits.
    pub headers: Vec<(String, String)>,
}

/// A provider's refusal, for clients of a maker's format that act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamError {
    pub status: u16,
    pub code: Option<String>,
    /// The field `type` of the makers' formats.
    pub kind: Option<String>,
    pub param: Option<String>,
    /// Headers with the time to wait and the remaining limits.
    pub headers: Vec<(String, String)>,
}

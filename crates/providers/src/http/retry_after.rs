use std::time::Duration;

use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// How long the provider asks to wait: milliseconds, seconds, or a date. A date is compared with
/// the answer's own `Date`, so that a wrong clock on either side does not matter.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &HeaderName| headers.get(name)?.to_str().ok();
    let milliseconds = text(&RETRY_AFTER_MS).and_then(|value| value.parse::<u64>().ok());
    if let Some(milliseconds) = milliseconds {
        return Some(Duration::from_millis(milliseconds));
    }
    let value = text(&RETRY_AFTER)?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = rfc2822::parse(value).ok()?.timestamp();
    let now = rfc2822::parse(text(&DATE)?).ok()?.timestamp();
    Some(Duration::from_secs(u64::try_from(then.as_second() - now.as_second()).unwrap_or(0)))
}

/// The provider's headers about its rate limits, for clients of its vendor that read them.
pub(crate) fn limit_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_about_limits = |name: &str| {
        matches!(name, "retry-after" | "retry-after-ms" | "x-should-retry")
            || name.starts_with("x-ratelimit-")
            || name.starts_with("anthropic-ratelimit-")
    };
    let kept = headers.iter().filter(|(name, _)| is_about_limits(name.as_str()));
    kept.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &[(&'static str, &'static str)]) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, value.parse().unwrap());
        }
        retry_after(&headers)
    }

    #[test]
    fn each_form_of_the_header_is_read() {
        let later = ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT");
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(of(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(of(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
        let both = [("retry-after", "7"), ("retry-after-ms", "250")];
        assert_eq!(of(&both), Some(Duration::from_millis(250)));
        assert_eq!(of(&[later, date]), Some(Duration::from_secs(10)));
        assert_eq!(of(&[("retry-after", "-1")]), None);
        assert_eq!(of(&[later]), None);
        assert_eq!(of(&[("retry-after", "soon")]), None);
    }
}

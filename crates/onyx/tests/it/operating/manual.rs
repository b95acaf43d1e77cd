//! The manual in the binary, completions, and pages for man(1).

use onyx_test_support::{Reply, ScriptedModel};
use reqwest::Method;

use crate::{onyx, run};

#[allow(clippy::disallowed_methods, reason = "redirects are looked at, not followed")]
fn plain_client() -> reqwest::Client {
    let builder = reqwest::Client::builder().no_proxy();
    builder.redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

/// Builds the manual as `make run` does, unless it is built already.
async fn build_the_manual() {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/docs-site");
    let built = tokio::process::Command::new(script).status().await.unwrap();
    assert!(built.success(), "scripts/docs-site says why above");
}

#[tokio::test]
async fn the_manual_is_served_with_a_policy_of_its_own() {
    build_the_manual().await;
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let get = async |path: &str| {
        Reply::of(plain_client().get(onyx.url(path)).header("accept", "text/html")).await
    };
    let short = get("/manual").await.expect(308);
    assert_eq!(short.headers["location"], "/manual/");
    let page = get("/manual/").await;
    let policy = page.headers["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
    for loophole in ["script-src 'self' 'unsafe", "http:", "https:", "*"] {
        assert!(!policy.contains(loophole), "{loophole}: {policy}");
    }
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    let missing = get("/manual/no/such/page.html").await;
    assert_eq!((page.status, missing.status), (200, 404));
    assert!(page.text().contains("<title>Onyx"), "{}", page.text());
    // All scripts and styles that the page names exist and have the right type.
    let text = page.text();
    let named = text.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let scripts: Vec<&str> = named.filter(|name| name.ends_with(".js")).collect();
    assert!(scripts.len() > 2, "{text}");
    for script in scripts {
        let script = get(&format!("/manual/{script}")).await.expect(200);
        assert_eq!(script.headers["content-type"], "text/javascript; charset=utf-8");
    }
    assert!(!text.contains("<script>"), "a script in the page would not run");
    assert_eq!(Reply::of(onyx.request(Method::POST, "/manual/")).await.status, 404);
}

#[tokio::test]
async fn shells_complete_what_the_command_line_has_and_man_has_a_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(folder.path(), &["completions", shell]).await;
        assert_eq!(script.code, Some(0), "{script:?}");
        for word in ["usage", "service", "uninstall", "follow"] {
            assert!(script.out.contains(word), "{shell} does not know {word}");
        }
    }
    let pages = folder.path().join("man");
    let man = run(folder.path(), &["man", "--to", pages.to_str().unwrap()]).await;
    assert_eq!(man.code, Some(0), "{man:?}");
    for (page, says) in
        [("onyx.1", "A home for your AI agents"), ("onyx-service-install.1", "\\-\\-system")]
    {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(
            text.starts_with(".ie") && text.contains(".TH onyx") && text.contains(says),
            "{page}: {text}"
        );
    }
    let neither = run(folder.path(), &["man"]).await;
    assert_eq!(neither.code, Some(2), "{neither:?}");
    let help = run(folder.path(), &["--help"]).await;
    assert!(!help.out.contains("man(1)"), "it is for those who make packages: {help:?}");
}

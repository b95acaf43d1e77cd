use onyx_extract::{ExtractError, Page, readable};

const STORY: &str = "The harbour lay quiet that morning, and the fishermen who usually shouted \
    from boat to boat kept their voices low, as if the fog itself had asked them to. Nobody knew \
    then that the ferry would not come, nor for how long.";

fn blog() -> String {
    format!(
        r#"<!doctype html><html><head><title>The Ferry | Harbour News</title>
        <script>var secret = "do not show";</script><style>p {{ color: red }}</style></head>
        <body><nav><a href="/home">Home</a> <a href="/shop">Shop our merchandise</a></nav>
        <article><h1>The Ferry</h1><p>{STORY}</p><h2>What people said</h2><ul><li>It is late.</li>
        <li>See <a href="/times?a=1&amp;b=2">the timetable</a> of snake_case_ferry.</li></ul>
        <p>{STORY}</p><pre><code>let ferry_time = 8;</code></pre>
        <table><tr><th>Day</th><th>Boats</th></tr><tr><td>Monday</td><td>4</td></tr></table>
        <p>{STORY}</p></article><footer>Cookie settings and imprint</footer></body></html>"#
    )
}

#[test]
fn an_article_becomes_markdown_without_what_surrounds_it() {
    let Page { title, markdown } =
        readable(&blog(), Some("https://news.example/ferry.html")).unwrap();

    assert_eq!(title.as_deref(), Some("The Ferry | Harbour News"));
    for kept in [
        STORY,
        "## What people said",
        "- It is late.",
        "[the timetable](https://news.example/times?a=1&b=2) of snake_case_ferry.",
        "let ferry_time = 8;",
        "| Monday | 4 |",
    ] {
        assert!(markdown.contains(kept), "{kept:?} is missing from\n{markdown}");
    }
    for dropped in ["do not show", "color: red", "Shop our merchandise", "Cookie settings"] {
        assert!(!markdown.contains(dropped), "{dropped:?} is in\n{markdown}");
    }
}

#[test]
fn a_page_without_an_article_keeps_all_its_text() {
    let html = "<title>Phones</title><nav>Menu</nav><ul><li>Anna 0151</li><li>Ben 0160</li></ul>";
    let expected =
        Page { title: Some("Phones".into()), markdown: "- Anna 0151\n- Ben 0160\n".into() };
    assert_eq!(readable(html, None), Ok(expected));
}

#[test]
fn a_relative_or_odd_address_is_no_obstacle() {
    let page = readable("<p>Hello <a href='x'>there</a></p>", Some("notes/page.html")).unwrap();
    assert_eq!(page.markdown, "Hello [there](x)\n");
}

#[test]
fn hostile_pages_are_refused_at_once() {
    let refused = Err(ExtractError::TooComplex("HTML"));
    assert!(readable(&"<div>".repeat(200_000), None) == refused);
    let formats: String = (0..2_000).map(|index| format!("<b id={index}>")).collect();
    assert!(readable(&format!("{formats}{}", "<p>x".repeat(200_000)), None) == refused);
    assert!(readable(&"<i>x</i>".repeat(300_000), None) == refused);
}

#[test]
fn a_page_as_deep_as_is_allowed_is_read_on_an_ordinary_stack() {
    let depth = 380;
    let html = format!("{}deep inside{}", "<div>".repeat(depth), "</div>".repeat(depth));
    assert_eq!(readable(&html, None).unwrap().markdown, "deep inside\n");
    let lists = format!("{}deep inside", "<ul><li>".repeat(depth));
    assert!(readable(&lists, None).unwrap().markdown.contains("deep inside"));
}

//! LinkedIn's tools with a LinkedIn server of the test.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use onyx_egress::SystemResolver;
use onyx_test_support::{LinkedInFault, LinkedInServer};
use onyx_tools::{
    Accounts, Approval, LinkedIn, LinkedInSettings, Masker, NoToken, Web, WebSettings,
    linkedin_tools,
};
use onyx_types::{DraftState, Origin, PersonId, SystemClock, Tier};
use serde_json::{Value, json};

use crate::support::World;

/// Ada's account. Each renewal of the token takes the next of these tokens.
#[derive(Default)]
struct Account {
    tokens: Mutex<Vec<String>>,
    asked: Mutex<Vec<Option<String>>>,
}

impl Account {
    fn with(tokens: &[String]) -> Arc<Self> {
        let tokens = Mutex::new(tokens.iter().rev().cloned().collect());
        Arc::new(Self { tokens, asked: Mutex::default() })
    }
}

#[async_trait]
impl Accounts for Account {
    fn absence(&self, person: &PersonId) -> Option<String> {
        (person.as_str() != "ada").then(|| "nobody is connected".to_owned())
    }

    fn name(&self, _: &PersonId) -> Option<String> {
        Some("member1@example.org".to_owned())
    }

    async fn token(&self, _: &PersonId, refused: Option<&str>) -> Result<String, NoToken> {
        self.asked.lock().unwrap().push(refused.map(str::to_owned));
        let mut tokens = self.tokens.lock().unwrap();
        if refused.is_some() {
            tokens.pop();
        }
        tokens.last().cloned().ok_or_else(|| NoToken::SignIn("connect again".to_owned()))
    }
}

fn linkedin(server: &LinkedInServer, account: &Arc<Account>) -> LinkedIn {
    let web = Web::new(Arc::new(SystemResolver), &WebSettings::default()).unwrap();
    let settings: LinkedInSettings = serde_json::from_value(server.settings()).unwrap();
    LinkedIn::new(&settings, web, Arc::clone(account) as Arc<dyn Accounts>).unwrap()
}

struct Scene {
    server: LinkedInServer,
    linkedin: LinkedIn,
    world: World,
}

/// A world at tier `act` with a valid token.
async fn scene() -> Scene {
    let server = LinkedInServer::start().await;
    let account = Account::with(&[server.token()]);
    with(server, &account).await
}

async fn with(server: LinkedInServer, account: &Arc<Account>) -> Scene {
    let linkedin = linkedin(&server, account);
    let world = World::with(linkedin_tools(&linkedin), Masker::default()).await;
    let world = world.at_clock(Arc::new(SystemClock::new()));
    Scene { server, linkedin, world }
}

impl Scene {
    /// Approves a call as a person; returns the draft's state and output.
    async fn approved(&self, tool: &str, input: Value) -> (DraftState, String) {
        let world = &self.world;
        let outcome = world.call(tool, input).await;
        let proposal = outcome.draft.unwrap_or_else(|| panic!("{}", outcome.output));
        let person = world.cx.key.person.clone();
        let draft = world.store.drafts.draft(&person, proposal.draft).await.unwrap().unwrap();
        let approval = Approval { person, reason: None, seen: None };
        let done = world.toolbox.approve(draft, &approval, &world.policy, &world.cx).await.unwrap();
        (done.state, done.output_text().unwrap_or_default().to_owned())
    }

    /// The files that record posts and comments.
    fn records(&self) -> Vec<String> {
        let folder = self.world.vault().join("agent/linkedin");
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        entries.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
    }

    fn checked(&self) -> (bool, Option<String>) {
        let check = self.linkedin.last_check(&"ada".parse().unwrap());
        (check.validated_at.is_some(), check.error)
    }
}

#[tokio::test]
async fn a_post_waits_for_a_person_who_sees_all_of_it_and_allowing_one_does_not_allow_the_next() {
    let scene = scene().await;
    let text = "Notes on @[Eve](urn:li:person:1) #Rust";
    let input = json!({"text": text, "visibility": "connections"});
    let outcome = scene.world.call("linkedin_post", input.clone()).await;
    let draft = outcome.draft.unwrap().draft;
    assert!(scene.server.posts().is_empty());
    let person = &scene.world.cx.key.person;
    let draft = scene.world.store.drafts.draft(person, draft).await.unwrap().unwrap();
    let preview = serde_json::to_string(&draft.plan.preview).unwrap();
    for part in ["member1@example.org", "connections only", text] {
        assert!(preview.contains(part), "{part}: {preview}");
    }
    // Each post needs an approval, even if the person let the run reach this server.
    scene.world.cx.decisions.granted.allow(&draft.plan);
    let next = scene.world.call("linkedin_post", input).await;
    assert!(next.draft.is_some(), "{}", next.output);
    assert!(scene.server.posts().is_empty() && scene.records().is_empty());
    let reading = scene.world.at(Tier::Read);
    let told = reading.call("linkedin_post", json!({"text": "x"})).await;
    assert!(told.is_error && told.draft.is_none(), "{}", told.output);
}

#[tokio::test]
async fn an_approved_post_goes_out_once_as_it_was_seen_and_leaves_a_file_in_the_vault() {
    let scene = scene().await;
    let (state, output) =
        scene.approved("linkedin_post", json!({"text": "Hi @[Eve](urn:li:person:1) #Rust"})).await;
    assert_eq!(state, DraftState::Applied, "{output}");
    assert!(
        output.contains("urn:li:share:1") && output.contains("vault/agent/linkedin/"),
        "{output}"
    );
    let [post] = scene.server.posts().try_into().unwrap();
    let expected = json!({"author": "urn:li:person:member-1",
        "commentary": r"Hi \@\[Eve\]\(urn:li:person:1\) #Rust", "visibility": "PUBLIC",
        "distribution": {"feedDistribution": "MAIN_FEED", "targetEntities": [],
            "thirdPartyDistributionChannels": []},
        "lifecycleState": "PUBLISHED", "isReshareDisabledByAuthor": false});
    assert_eq!(post, expected);
    let [record] = scene.records().try_into().unwrap();
    for part in [
        "Member 1 (urn:li:person:member-1)",
        "visible to: anyone",
        "agent main",
        "Hi @[Eve](urn:li:person:1) #Rust",
        "- done: urn:li:share:1",
    ] {
        assert!(record.contains(part), "{part}: {record}");
    }
    assert_eq!(scene.checked(), (true, None));
}

#[tokio::test]
async fn a_comment_goes_to_the_post_whose_address_was_given() {
    let scene = scene().await;
    let post = "https://www.linkedin.com/feed/update/urn:li:activity:7/";
    let (state, output) =
        scene.approved("linkedin_comment", json!({"post": post, "text": "Well said."})).await;
    assert_eq!(state, DraftState::Applied, "{output}");
    let expected = json!({"actor": "urn:li:person:member-1", "object": "urn:li:activity:7",
        "message": {"text": "Well said."}});
    assert_eq!(scene.server.comments(), [("urn:li:activity:7".to_owned(), expected)]);
    let [record] = scene.records().try_into().unwrap();
    assert!(
        record.contains("- on: urn:li:activity:7") && record.contains("Well said."),
        "{record}"
    );
    for (input, why) in [
        (json!({"post": "https://example.org/", "text": "x"}), "names no post"),
        (json!({"post": post, "text": " "}), "\"text\" is empty"),
        (json!({"post": post, "text": "x".repeat(1251)}), "LinkedIn takes 1250"),
    ] {
        let told = scene.world.failed("linkedin_comment", input).await;
        assert!(told.contains(why), "{told}");
    }
}

#[tokio::test]
async fn the_profile_is_read_without_asking_and_what_linkedin_says_taints() {
    let scene = scene().await;
    let outcome = scene.world.call("linkedin_profile", json!({})).await;
    assert!(!outcome.is_error, "{}", outcome.output);
    let expected = "Name: Member 1\nEmail: member1@example.org\nMember: urn:li:person:member-1";
    assert_eq!(outcome.output, expected);
    assert_eq!(outcome.origin, Origin::External);
    let requests = scene.server.requests();
    assert!(requests[0].to_lowercase().contains("authorization: bearer "), "{requests:?}");
}

#[tokio::test]
async fn what_passes_is_tried_again_and_what_may_have_been_done_is_not() {
    let scene = scene().await;
    let status = LinkedInFault::Status;
    // After too many requests (429) and an outage (503) the request is sent again at the given
    // time.
    scene.server.fail_next([status(429, Some(1)), status(503, None)]);
    let outcome = scene.world.call("linkedin_profile", json!({})).await;
    assert!(!outcome.is_error, "{}", outcome.output);
    // The server asks for a longer wait than a call may take.
    scene.server.fail_next([status(429, Some(3600))]);
    let told = scene.world.failed("linkedin_profile", json!({})).await;
    assert!(told.contains("too many requests (429)") && told.contains("wait 3600 s"), "{told}");
    assert_eq!(scene.checked().1.as_deref(), Some(told.as_str()));
    // A refused post is sent again. A post that was made, but whose answer was lost, is not.
    scene.server.fail_next_posts([status(503, None), LinkedInFault::DoneThen(502)]);
    let (state, output) = scene.approved("linkedin_post", json!({"text": "Once"})).await;
    assert_eq!(state, DraftState::Unknown, "{output}");
    assert!(output.contains("check before repeating"), "{output}");
    assert_eq!(scene.server.posts().len(), 1);
    let [record] = scene.records().try_into().unwrap();
    assert!(record.contains("- it is not known whether it was done"), "{record}");
}

#[tokio::test]
async fn a_post_that_nobody_answers_is_in_doubt_and_written_down_as_that() {
    let scene = scene().await;
    scene.server.fail_next_posts([LinkedInFault::DoneThenHang]);
    let (state, output) = scene.approved("linkedin_post", json!({"text": "Silence"})).await;
    assert_eq!(state, DraftState::Unknown, "{output}");
    assert!(output.contains("no answer within 10 s"), "{output}");
    assert_eq!(scene.server.posts().len(), 1);
    let [record] = scene.records().try_into().unwrap();
    assert!(record.contains("- it is not known whether it was done"), "{record}");
}

#[tokio::test]
async fn refusals_say_in_one_sentence_what_to_do() {
    let scene = scene().await;
    for (fault, part) in [
        (LinkedInFault::Status(403, None), "\"Share on LinkedIn\""),
        (LinkedInFault::Status(426, None), "tools.linkedin.apiVersion"),
        (LinkedInFault::Status(404, None), "found nothing there (404)"),
        (LinkedInFault::Garbage, "cannot be read"),
    ] {
        scene.server.fail_next([fault]);
        let outcome = scene.world.call("linkedin_profile", json!({})).await;
        assert!(outcome.is_error && outcome.output.contains(part), "{}", outcome.output);
        assert_eq!(outcome.origin, Origin::External, "LinkedIn's own words");
    }
    scene.server.remove_access();
    let told = scene.world.failed("linkedin_profile", json!({})).await;
    assert_eq!(told, "connect again");
}

#[tokio::test]
async fn a_token_that_is_refused_is_replaced_once() {
    let server = LinkedInServer::start().await;
    let account = Account::with(&["old".to_owned(), server.token()]);
    let scene = with(server, &account).await;
    scene.world.done("linkedin_profile", json!({})).await;
    assert_eq!(*account.asked.lock().unwrap(), [None, Some("old".to_owned())]);
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_posted() {
    let scene = scene().await;
    scene.world.write("agent/linkedin", "a file where the folder should be");
    let (state, output) = scene.approved("linkedin_post", json!({"text": "Unseen"})).await;
    assert_eq!(state, DraftState::Failed, "{output}");
    assert!(scene.server.posts().is_empty());
}

#[tokio::test]
async fn an_account_is_one_persons_and_settings_must_lead_somewhere() {
    let server = LinkedInServer::start().await;
    let account = Account::with(&[server.token()]);
    let mut scene = with(server, &account).await;
    scene.world.cx.key.person = "grace".parse().unwrap();
    let told = scene.world.failed("linkedin_profile", json!({})).await;
    assert!(told.contains("nobody is connected"), "{told}");
    assert!(scene.server.requests().is_empty());
    let wrong = |settings: Value| {
        let settings: LinkedInSettings = serde_json::from_value(settings).unwrap();
        settings.check().unwrap_err().to_string()
    };
    for (settings, part) in [
        (json!({"clientId": "c", "clientSecret": "plain"}), "tools.linkedin.clientSecret: must be"),
        (
            json!({"clientId": "c", "clientSecret": "secret:l", "baseUrl": "http://example.org"}),
            "tools.linkedin.baseUrl: must be https",
        ),
        (
            json!({"clientId": "c", "clientSecret": "secret:l", "apiVersion": "new"}),
            "tools.linkedin.apiVersion: must be",
        ),
    ] {
        let told = wrong(settings);
        assert!(told.starts_with(part), "{told}");
    }
    LinkedInSettings::default().check().unwrap();
}

//! Messages of connectors while the database has trouble.

use onyx_test_support::networks::{FakeTelegram, TELEGRAM_TOKEN};
use onyx_test_support::{ScriptedModel, wait_for};
use serde_json::json;

use super::{gateway, place};
use crate::SOON;

/// The database is away at the first two tries to record that a message was sent.
const AWAY_WHEN_SENT: &str = "CREATE SEQUENCE tries;
    CREATE FUNCTION away() RETURNS TRIGGER LANGUAGE plpgsql AS $away$
        BEGIN
            IF NEW.state = 'sent' THEN
                IF nextval('tries') <= 2 THEN
                    RAISE EXCEPTION 'away' USING ERRCODE = '57P03';
                END IF;
            END IF;
            RETURN NEW;
        END $away$;
    CREATE TRIGGER away BEFORE UPDATE ON connector_outbox
        FOR EACH ROW EXECUTE FUNCTION away()";

#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_cannot_be_recorded_at_once_is_recorded_later_and_holds_up_nobody() {
    let (place, model) = (place().await, ScriptedModel::start().await);
    let telegram = FakeTelegram::start().await;
    model.set_default("It is noon.");
    let account = json!({"token": TELEGRAM_TOKEN, "apiBase": telegram.url(), "allow": [7]});
    let config = json!({"connectors": {"telegram": {"accounts": {"main": account}}}});
    let _onyx = gateway(&place, "one", &model).merge(config).start().await;
    let sql = place.sql().await;
    sql.batch_execute(AWAY_WHEN_SENT).await.unwrap();
    for answers in 1..=2 {
        telegram.say(7, "What time is it?");
        let what = format!("answer {answers}");
        wait_for(&what, SOON * 3, async || (telegram.messages(7).len() == answers).then_some(()))
            .await;
    }
    wait_for("both to be recorded", SOON * 3, async || {
        let all = "SELECT count(*) >= 2 AND bool_and(state = 'sent') FROM connector_outbox";
        sql.query_one(all, &[]).await.unwrap().get::<_, bool>(0).then_some(())
    })
    .await;
    assert_eq!(telegram.messages(7).len(), 2, "each was sent once");
}

//! Spaces and what lives in them.

use super::table::{Answer, Doc, EVENTS, doc, json};
use super::{answers, schema_of};
use crate::encode::{CompanionEvent, ThreadEvent};
use crate::routes::views;

pub(super) fn spaces() -> Vec<Doc> {
    use views::spaces::{
        CaptureRequest, EntitiesQuery, EntityList, EntityPatch, EntityView, NewEntity, NewSpace,
        SpaceList, SpacePatch, SpaceView,
    };
    let space = "/api/spaces/{id}";
    let (all, one) = ("/api/spaces/{id}/{kind}", "/api/spaces/{id}/{kind}/{entity}");
    let entity = || Answer::Created(schema_of::<EntityView>);
    vec![
        doc("GET", "/api/spaces", "The person's spaces", json::<SpaceList>()),
        doc("POST", "/api/spaces", "Makes one", Answer::Created(schema_of::<SpaceView>))
            .body::<NewSpace>(),
        doc("GET", space, "One space", json::<SpaceView>()),
        doc("PATCH", space, "Changes its name or agent", json::<SpaceView>()).body::<SpacePatch>(),
        doc("DELETE", space, "Removes it with all in it; versions are kept", Answer::Nothing),
        doc("POST", "/api/spaces/{id}/capture", "An address, text or file becomes a ref", entity())
            .body::<CaptureRequest>(),
        doc("GET", all, "What it holds of a kind", json::<EntityList>()).query::<EntitiesQuery>(),
        doc("POST", all, "Makes one", entity()).body::<NewEntity>(),
        doc("GET", one, "One of them, whole", json::<EntityView>()),
        doc("PATCH", one, "Changes some of it", json::<EntityView>()).body::<EntityPatch>(),
        doc("DELETE", one, "Removes it; what it held is kept", Answer::Nothing),
    ]
}

pub(super) fn companion() -> Vec<Doc> {
    use views::{CompanionView, Messages, MessagesQuery, PostMessage, Posted, StreamQuery};
    let messages = "/api/conversations/{id}/messages";
    let events = Answer::Stream(EVENTS, schema_of::<CompanionEvent<'static>>);
    vec![
        doc(
            "GET",
            "/api/spaces/{id}/companion",
            "The space's conversation",
            json::<CompanionView>(),
        ),
        doc("GET", messages, "What was said in it", json::<Messages>()).query::<MessagesQuery>(),
        doc(
            "POST",
            messages,
            "Keeps a message; Idempotency-Key holds",
            Answer::Created(schema_of::<Posted>),
        )
        .body::<PostMessage>(),
        doc("GET", "/api/conversations/{id}/stream", "Runs a message, event by event", events)
            .query::<StreamQuery>(),
    ]
}

pub(super) fn channels() -> Vec<Doc> {
    use views::channels::{
        Cancelled, ChannelList, ChannelPatch, ChannelView, ChannelsQuery, ContextFound,
        ContextQuery, CoworkerList, NewChannel, NewCoworker, NewMessage, NewThread, PatchCoworker,
        PatchThread, Sent, ThreadList, ThreadMessages, ThreadQuery, ThreadView, ThreadsQuery,
    };
    let (channels, channel) = ("/api/channels", "/api/channels/{id}");
    let (coworkers, coworker) =
        ("/api/channels/{id}/coworkers", "/api/channels/{id}/coworkers/{agent}");
    let (threads, thread) = ("/api/threads", "/api/threads/{id}");
    let messages = "/api/threads/{id}/messages";
    let events = Answer::Stream(EVENTS, schema_of::<ThreadEvent<'static>>);
    vec![
        doc("GET", channels, "Channels", json::<ChannelList>()).query::<ChannelsQuery>(),
        doc("POST", channels, "Makes one", Answer::Created(schema_of::<ChannelView>))
            .body::<NewChannel>(),
        doc("GET", channel, "One channel", json::<ChannelView>()),
        doc("PATCH", channel, "Changes name or purpose", json::<ChannelView>())
            .body::<ChannelPatch>(),
        doc("DELETE", channel, "Removes it with its threads and sources", Answer::Nothing),
        doc("GET", coworkers, "Who works in it", json::<CoworkerList>()),
        doc("POST", coworkers, "Assigns one", Answer::Created(schema_of::<CoworkerList>))
            .body::<NewCoworker>(),
        doc("PATCH", coworker, "Marks the primary", json::<CoworkerList>()).body::<PatchCoworker>(),
        doc("DELETE", coworker, "Takes one out", Answer::Nothing),
        doc("GET", threads, "Threads, newest first", json::<ThreadList>()).query::<ThreadsQuery>(),
        doc("POST", threads, "Begins one", Answer::Created(schema_of::<ThreadView>))
            .body::<NewThread>(),
        doc("GET", thread, "One thread", json::<ThreadView>()),
        doc("PATCH", thread, "Renames it", json::<ThreadView>()).body::<PatchThread>(),
        doc("DELETE", thread, "Removes it with what was said and its sources", Answer::Nothing),
        doc("GET", messages, "What was said", json::<ThreadMessages>()).query::<ThreadQuery>(),
        doc(
            "POST",
            messages,
            "Says something; Idempotency-Key holds",
            Answer::Created(schema_of::<Sent>),
        )
        .body::<NewMessage>(),
        doc("GET", "/api/threads/{id}/context", "What retrieval finds", json::<ContextFound>())
            .query::<ContextQuery>(),
        doc("GET", "/api/threads/{id}/events", "Answers as they come", events),
        doc("POST", "/api/messages/{id}/cancel", "Stops an answer", json::<Cancelled>()),
    ]
}

pub(super) fn ui_chat() -> Doc {
    let parts = Answer::Stream(EVENTS, answers::ui_message_part);
    doc("POST", "/api/v1/chat", "A model's answer as an AI SDK UI message stream", parts)
        .body::<crate::decode::UiChatRequest>()
}

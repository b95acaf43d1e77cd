//! Tools that Anthropic identifies by type. Tools that the client runs are offered to any model
//! with the schema that Anthropic's own models know; tools that run at Anthropic are left out and
//! reported.

use onyx_types::ToolOffer;
use serde_json::{Value, json};

/// What is done with a tool that a maker's type identifies.
pub(super) enum MakersTool {
    Offered(ToolOffer),
    /// The tool would run at the maker and is left out.
    LeftOut,
}

pub(super) fn makers_tool(kind: &str, name: String) -> MakersTool {
    // A type ends with the date of its version.
    let family = kind.rsplit_once('_').map_or(kind, |(family, _)| family);
    let (description, input_schema) = match family {
        "bash" => ("Runs a command in a shell that keeps its state between calls.", bash()),
        "text_editor" => ("Views, creates and edits files.", text_editor()),
        "memory" => ("Keeps notes in files below /memories.", memory()),
        "computer" => ("Looks at the screen, moves the mouse and types.", computer()),
        _ => return MakersTool::LeftOut,
    };
    let description = description.to_owned();
    MakersTool::Offered(ToolOffer { name, description, input_schema: input_schema.into() })
}

fn bash() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command to run."},
            "restart": {"type": "boolean", "description": "True restarts the shell."},
        },
    })
}

fn text_editor() -> Value {
    json!({
        "type": "object",
        "required": ["command", "path"],
        "properties": {
            "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert"]},
            "path": {"type": "string", "description": "The file or folder."},
            "view_range": {"type": "array", "items": {"type": "integer"}, "description":
                "For `view`: the first and the last line; -1 is the end."},
            "file_text": {"type": "string", "description": "For `create`: what the file holds."},
            "old_str": {"type": "string", "description":
                "For `str_replace`: the text to replace; it must be there once."},
            "new_str": {"type": "string", "description":
                "For `str_replace` and `insert`: the new text."},
            "insert_line": {"type": "integer", "description":
                "For `insert`: the line after which the text goes; 0 is the beginning."},
            "insert_text": {"type": "string", "description": "For `insert`: the text."},
        },
    })
}

fn memory() -> Value {
    json!({
        "type": "object",
        "required": ["command"],
        "properties": {
            "command": {"type": "string", "enum":
                ["view", "create", "str_replace", "insert", "delete", "rename"]},
            "path": {"type": "string", "description": "The file or folder, below /memories."},
            "view_range": {"type": "array", "items": {"type": "integer"}},
            "file_text": {"type": "string"},
            "old_str": {"type": "string"},
            "new_str": {"type": "string"},
            "insert_line": {"type": "integer"},
            "insert_text": {"type": "string"},
            "old_path": {"type": "string"},
            "new_path": {"type": "string"},
        },
    })
}

fn computer() -> Value {
    let point =
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2});
    json!({
        "type": "object",
        "required": ["action"],
        "properties": {
            "action": {"type": "string", "enum": [
                "screenshot", "left_click", "right_click", "middle_click", "double_click",
                "triple_click", "mouse_move", "left_click_drag", "left_mouse_down",
                "left_mouse_up", "cursor_position", "type", "key", "hold_key", "scroll", "wait",
            ]},
            "coordinate": point,
            "start_coordinate": point,
            "text": {"type": "string"},
            "duration": {"type": "number"},
            "scroll_direction": {"type": "string", "enum": ["up", "down", "left", "right"]},
            "scroll_amount": {"type": "integer"},
        },
    })
}

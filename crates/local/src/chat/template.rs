//! The chat template in a model's file.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, context};
use serde_json::Value;

use crate::worker::ChatMessage;

/// The most common template, for files that have none.
const USUAL: &str = "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + \
                     message.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}";

const NAME: &str = "chat";

/// How many steps a template may take: a template with an endless loop was made to harm.
const FUEL: u64 = 5_000_000;

pub(crate) struct Template {
    environment: Environment<'static>,
    begin: String,
    end: String,
}

impl Template {
    /// `begin` and `end` are the marks around a whole text, as strings of the model's vocabulary.
    pub(crate) fn new(source: Option<&str>, begin: String, end: String) -> Result<Self, String> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| error.to_string())?);
        environment.set_fuel(Some(FUEL));
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |why: String| -> Result<String, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, why))
        });
        let source = source.unwrap_or(USUAL).to_owned();
        environment
            .add_template_owned(NAME, source)
            .map_err(|error| format!("its chat template does not parse: {error}"))?;
        Ok(Self { environment, begin, end })
    }

    /// Renders the conversation as one text, up to the point where the model continues.
    pub(crate) fn render(
        &self,
        messages: &[ChatMessage],
        tools: &[Value],
    ) -> Result<String, String> {
        self.try_render(messages, tools).or_else(|first| {
            // Some templates support no system message, so the system prompt becomes the beginning
            // of the person's first message.
            let merged = without_system(messages).ok_or_else(|| unusable(&first))?;
            self.try_render(&merged, tools).map_err(|_| unusable(&first))
        })
    }

    fn try_render(&self, messages: &[ChatMessage], tools: &[Value]) -> Result<String, Error> {
        let tools = (!tools.is_empty()).then_some(tools);
        self.environment.get_template(NAME)?.render(context! {
            messages => Serde(messages),
            tools => tools.map(Serde),
            add_generation_prompt => true,
            bos_token => self.begin.clone(),
            eos_token => self.end.clone(),
        })
    }
}

fn unusable(error: &Error) -> String {
    format!("the model's chat template does not take this conversation: {error}")
}

fn without_system(messages: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
    let (system, rest) = messages.split_first().filter(|(first, _)| first.role == "system")?;
    let mut rest = rest.to_vec();
    let user = rest.iter_mut().find(|message| message.role == "user")?;
    user.content = format!("{}\n\n{}", system.content, user.content);
    Some(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(role: &str, content: &str) -> ChatMessage {
        ChatMessage { role: role.to_owned(), content: content.to_owned(), tool_calls: Vec::new() }
    }

    fn template(source: Option<&str>) -> Template {
        Template::new(source, "<s>".to_owned(), "</s>".to_owned()).unwrap()
    }

    #[test]
    fn a_file_without_a_template_gets_the_usual_one() {
        let rendered =
            template(None).render(&[message("system", "S"), message("user", "U")], &[]).unwrap();

        assert_eq!(
            rendered,
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
        );
    }

    #[test]
    fn a_template_that_knows_tools_is_given_them() {
        let source = "{{ bos_token }}{% if tools %}{% for tool in tools %}\
                      {{ tool | tojson }}\n{% endfor %}{% endif %}{% for m in messages %}\
                      {% if m.tool_calls %}<tool_call>{{ m.tool_calls[0].function | tojson }}\
                      </tool_call>{% else %}[{{ m.role }}]{{ m.content.strip() }}{% endif %}{% endfor %}";
        let call = ChatMessage {
            tool_calls: vec![json!({"function": {"name": "f", "arguments": {"x": 1}}})],
            ..message("assistant", "")
        };

        let rendered =
            template(Some(source)).render(&[message("user", " U "), call], &[json!({"t": 1})]);

        assert_eq!(
            rendered.unwrap(),
            "<s>{\"t\": 1}\n[user]U<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1}}</tool_call>"
        );
    }

    #[test]
    fn a_template_without_system_messages_gets_it_with_the_first_words() {
        let source = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}\
                      {% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}";

        let rendered =
            template(Some(source)).render(&[message("system", "S"), message("user", "U")], &[]);

        assert_eq!(rendered.unwrap(), "[user]S\n\nU");
    }

    #[test]
    fn a_broken_or_endless_template_is_an_error() {
        assert!(Template::new(Some("{% if %}"), String::new(), String::new()).is_err());
        let endless =
            "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        let error = template(Some(endless)).render(&[message("user", "U")], &[]).unwrap_err();
        assert!(error.contains("chat template"), "{error}");
    }
}

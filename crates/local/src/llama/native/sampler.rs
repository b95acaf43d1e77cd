use std::ffi::{CString, c_void};

use super::functions::Functions;
use super::{Context, Model, Token};

/// How the next token is chosen.
pub(in crate::llama) enum Sampling {
    /// Allows only text that fits this grammar (GBNF, its rule `root`).
    Grammar(String),
    /// Makes tokens that were among the last ones less likely.
    Penalty {
        last_tokens: i32,
        repeated: f32,
    },
    TopK(i32),
    TopP(f32),
    Temperature(f32),
    /// Draws at random; the same seed gives the same draws.
    Chance {
        seed: u32,
    },
    MostLikely,
}

/// Chooses tokens, step after step.
pub(in crate::llama) struct Sampler {
    functions: &'static Functions,
    chain: *mut c_void,
}

impl Sampler {
    pub(in crate::llama) fn new(model: &Model, steps: &[Sampling]) -> Result<Self, &'static str> {
        let functions = model.functions;
        // SAFETY: the parameters are the library's defaults.
        let chain = unsafe {
            let params = (functions.llama_sampler_chain_default_params)();
            (functions.llama_sampler_chain_init)(params)
        };
        if chain.is_null() {
            return Err("there is not enough memory");
        }
        let sampler = Self { functions, chain };
        for step in steps {
            let step = sampler.step(model, step)?;
            // SAFETY: chain and step were just made; the chain owns the step from here on.
            unsafe { (functions.llama_sampler_chain_add)(chain, step) };
        }
        Ok(sampler)
    }

    fn step(&self, model: &Model, step: &Sampling) -> Result<*mut c_void, &'static str> {
        const KEEP_ONE: usize = 1;
        let functions = self.functions;
        // SAFETY: the numbers are in the ranges that the header names, the texts end with a zero
        // byte and are copied during the call, and the vocabulary is that of a living model.
        let made = unsafe {
            match step {
                Sampling::Grammar(grammar) => {
                    let grammar =
                        CString::new(grammar.as_str()).map_err(|_| "it holds a zero byte")?;
                    let root = c"root".as_ptr();
                    (functions.llama_sampler_init_grammar)(model.vocab, grammar.as_ptr(), root)
                }
                Sampling::Penalty { last_tokens, repeated } => {
                    let words = (functions.llama_vocab_n_tokens)(model.vocab);
                    (functions.llama_sampler_init_penalties)(
                        words,
                        *last_tokens,
                        *repeated,
                        0.0,
                        0.0,
                    )
                }
                Sampling::TopK(count) => (functions.llama_sampler_init_top_k)(*count),
                Sampling::TopP(share) => (functions.llama_sampler_init_top_p)(*share, KEEP_ONE),
                Sampling::Temperature(value) => (functions.llama_sampler_init_temp)(*value),
                Sampling::Chance { seed } => (functions.llama_sampler_init_dist)(*seed),
                Sampling::MostLikely => (functions.llama_sampler_init_greedy)(),
            }
        };
        if made.is_null() { Err("llama.cpp cannot use it") } else { Ok(made) }
    }

    /// The token that follows one of the last batch; `place` is the position of that one in the
    /// batch.
    pub(in crate::llama) fn next(&mut self, context: &Context<'_>, place: i32) -> Token {
        // SAFETY: the context is alive, and output was requested for `place`.
        Token(unsafe { (self.functions.llama_sampler_sample)(self.chain, context.raw, place) })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: the chain was made once and is freed once, with all of its steps.
        unsafe { (self.functions.llama_sampler_free)(self.chain) }
    }
}

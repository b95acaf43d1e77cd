// Lists what waits for a decision (CommonJS): node inbox.cjs [approve|reject ID]
const { Onyx } = require('@onyx/sdk');

const onyx = new Onyx({ baseUrl: process.env.ONYX_URL ?? 'http://127.0.0.1:18790', token: process.env.ONYX_TOKEN });

async function main([decision, id]) {
  if (decision === 'approve' || decision === 'reject') {
    const draft = await onyx.drafts.get(id);
    const decided = await onyx.drafts[decision](id, decision === 'approve' ? { planHash: draft.planHash } : {});
    console.log(`${decided.state}: ${decided.summary}`);
    return;
  }
  const { drafts } = await onyx.drafts.list({ state: 'pending' });
  for (const draft of drafts) console.log(`${draft.id}  ${draft.tool}  ${draft.summary}`);
  console.log(`${drafts.length} in all`);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`${error.code ?? 'error'}: ${error.message} ${error.hint ?? ''}`);
  process.exitCode = 1;
});

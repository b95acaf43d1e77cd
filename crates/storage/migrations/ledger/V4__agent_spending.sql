-- What each agent has cost on a day, for whomever it worked.
CREATE TABLE agent_spending (
    agent  TEXT NOT NULL,
    -- UTC, YYYY-MM-DD.
    day    TEXT NOT NULL,
    cost   REAL NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (agent, day)
) STRICT, WITHOUT ROWID;

INSERT INTO agent_spending (agent, day, cost, tokens)
SELECT agent, strftime('%Y-%m-%d', ended_at / 1000, 'unixepoch'),
       sum(coalesce(cost, 0.0)), sum(input + output)
FROM runs WHERE ended_at IS NOT NULL
GROUP BY 1, 2;

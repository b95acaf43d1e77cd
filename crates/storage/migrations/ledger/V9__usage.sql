-- What was used on a day, by whom, through which agent, of which model. Budgets and every other sum
-- are read from here.
CREATE TABLE usage (
    -- UTC, YYYY-MM-DD.
    day         TEXT    NOT NULL,
    person      TEXT    NOT NULL,
    agent       TEXT    NOT NULL,
    -- <provider>/<model>; empty for what was booked before models were.
    model       TEXT    NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    -- An unknown price counts as nothing.
    cost        REAL    NOT NULL,
    PRIMARY KEY (day, person, agent, model)
) STRICT, WITHOUT ROWID;

INSERT INTO usage (day, person, agent, model, input, output, cache_read, cache_write, cost)
SELECT strftime('%Y-%m-%d', ended_at / 1000, 'unixepoch'), person, agent, '',
       sum(input), sum(output), sum(cache_read), sum(cache_write), sum(coalesce(cost, 0.0))
FROM runs WHERE ended_at IS NOT NULL
GROUP BY 1, 2, 3;

-- What a person spent beside runs: requests that passed through, titles.
INSERT INTO usage (day, person, agent, model, input, output, cache_read, cache_write, cost)
SELECT spending.day, spending.person, 'pass-through', '',
       max(0, spending.tokens - coalesce(sum(usage.input + usage.output), 0)), 0, 0, 0,
       max(0.0, spending.cost - coalesce(sum(usage.cost), 0.0))
FROM spending LEFT JOIN usage ON usage.day = spending.day AND usage.person = spending.person
WHERE true
GROUP BY spending.day, spending.person
HAVING spending.tokens > coalesce(sum(usage.input + usage.output), 0)
    OR spending.cost > coalesce(sum(usage.cost), 0.0) + 1e-9
ON CONFLICT DO UPDATE SET input = input + excluded.input, cost = cost + excluded.cost;

DROP TABLE spending;
DROP TABLE agent_spending;

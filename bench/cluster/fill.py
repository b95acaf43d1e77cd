"""Makes many sessions and people out of one of each, in the database itself."""


def columns(database, name, table):
    select = f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' AND table_schema = 'public' ORDER BY ordinal_position"
    identity = f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' AND is_identity = 'YES'"
    generated = set(database.sql(name, identity))
    return [column for column in database.sql(name, select) if column not in generated]


def copies(database, name, table, instead, where):
    """Returns an INSERT that copies those rows for every new id (`made.id`), with other values in some columns."""
    every = columns(database, name, table)
    values = ", ".join(instead.get(column, f"old.{column}") for column in every)
    return f"INSERT INTO {table} ({', '.join(every)}) SELECT {values} FROM {table} AS old, made WHERE {where} ON CONFLICT DO NOTHING"


def sessions(database, name, model, wanted):
    """Copies the model session, for the same person, until there are `wanted` sessions."""
    have = int(database.sql(name, "SELECT count(*) FROM sessions")[0])
    if wanted <= have:
        return
    of_model = f"old.session = '{model}'"
    id = "made.id"
    statements = [
        f"CREATE TEMP TABLE made AS SELECT gen_random_uuid()::TEXT AS id FROM generate_series(1, {wanted - have})",
        copies(database, name, "sessions", {"session": id, "root": id, "last_run": "made.id"}, of_model),
        copies(database, name, "session_log", {"session": id, "until": "'-infinity'"}, of_model),
        copies(database, name, "turns", {"session": id}, of_model),
        copies(database, name, "runs", {"session": id, "run": "gen_random_uuid()::TEXT"}, of_model),
        copies(database, name, "run_inputs", {"session": id, "run": "gen_random_uuid()::TEXT"}, of_model),
        copies(database, name, "session_changes", {"session": id, "seq": "NULL"}, of_model),
        "DROP TABLE made",
    ]
    database.sql(name, ";".join(statements))
    database.sql(name, "VACUUM ANALYZE")


def people(database, name, model, wanted):
    """Adds people with copies of the model person's files until there are `wanted` people."""
    have = int(database.sql(name, "SELECT count(*) FROM people")[0])
    if wanted <= have:
        return
    of_model = f"old.person = '{model}'"
    moved = {column: f"replace(old.{column}, 'people/{model}', 'people/' || made.id)" for column in ("path", "parent")}
    statements = [
        f"CREATE TEMP TABLE made AS SELECT 'person' || number AS id FROM generate_series({have + 1}, {wanted}) AS number",
        copies(database, name, "people", {"person": "made.id"}, of_model),
        copies(database, name, "files", {"person": "made.id", **moved}, of_model),
        "DROP TABLE made",
    ]
    database.sql(name, ";".join(statements))
    database.sql(name, "VACUUM ANALYZE")

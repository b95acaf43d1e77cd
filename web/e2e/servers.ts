// A database and a bucket for one test, on the real servers that all tests of server mode share.

import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runOnyx } from './stage';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('../../scripts/test-servers', import.meta.url));
const MASTER_KEY = '5e1f0000000000000000000000000000000000000000000000000000000000aa';

export interface Place {
  /** The settings of a gateway with this name. */
  gateway: (id: string) => { id: string; storage: object; masterKey: string };
  end: () => Promise<void>;
}

/** Creates the database with its tables, and the bucket. */
export async function place(): Promise<Place> {
  // The servers must not be in this run's folder: the database's user may not enter it, and it is deleted before they
  // end.
  const { TMPDIR: _, ...environment } = process.env;
  const { stdout } = await run(SCRIPT, { env: environment });
  const [database = '', objects = '', lock = ''] = stdout.split('\n');
  // The servers run as long as somebody holds this lock.
  const inUse = spawn('flock', ['--shared', lock, 'sleep', 'infinity'], { stdio: 'ignore' });
  const name = `w${randomBytes(6).toString('hex')}`;
  await run('psql', [database, '-c', `CREATE DATABASE ${name}`]);
  const bucket = await fetch(`http://${objects}/${name}`, {
    method: 'PUT',
    headers: { authorization: 'AWS4-HMAC-SHA256 Credential=test/20200101/us-east-1/s3/aws4_request' },
  });
  if (!bucket.ok) throw new Error(`no bucket: ${bucket.status}`);
  const storage = {
    database: `${database.slice(0, database.lastIndexOf('/'))}/${name}?sslmode=disable`,
    objects: `s3://${name}/onyx`,
    s3: { endpoint: `http://${objects}`, accessKeyId: 'test', secretAccessKey: 'test', pathStyle: true },
  };
  const gateway = (id: string) => ({ id, storage, masterKey: MASTER_KEY });
  const home = await mkdtemp(join(tmpdir(), 'onyx-e2e-'));
  await writeFile(join(home, 'onyx.json'), JSON.stringify({ gateway: { id: 'migrate' }, storage }));
  await runOnyx(['migrate'], { ONYX_HOME: home, ONYX_KEYS: join(home, 'keys'), ONYX_MASTER_KEY: MASTER_KEY });
  await rm(home, { recursive: true, force: true });
  const end = async () => {
    await run('psql', [database, '-c', `DROP DATABASE ${name} WITH (FORCE)`]);
    inUse.kill('SIGKILL');
  };
  return { gateway, end };
}

import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { Skill } from '@onyx/sdk';
import { Diff } from '../../chat/Diff';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Field, Form, Line, Section } from '../../ui/form';
import { Confirm, Modal } from '../../ui/Modal';
import { Empty, Page, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { Words } from '../../ui/words';
import { SkillEditor } from './SkillEditor';

const STATES: Record<Skill['state'], string> = {
  ready: 'Agents can open it',
  new: 'Waits for you: not accepted yet',
  changed: 'Waits for you: it has changed since you accepted it',
  shadowed: 'Overridden by another skill with the same name',
  broken: 'Cannot be used',
};

type Asking = { what: 'new' | 'bring' } | { what: 'edit' | 'remove'; skill: Skill };

/** The skills: instructions that agents open when they need them. */
export function SkillsPage() {
  const skills = useLoaded('skills', () => onyx.skills.list());
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  const done = (said: string) => {
    close();
    toast(said);
    skills.reload();
  };
  const bring = async (field: (name: string) => string) => {
    const brought = await onyx.skills.bring({ git: field('address') });
    done(`${brought.map((skill) => skill.name).join(', ')} added. Read each skill, then accept it.`);
  };
  const remove = async (skill: Skill, yes: boolean) => {
    close();
    if (yes && (await attempt('Not removed', () => onyx.skills.remove(skill.name).then(() => true))))
      done(`${skill.name} was removed`);
  };
  return (
    <Page
      title="Skills"
      bar={
        <>
          <button type="button" className="btn" onClick={() => setAsking({ what: 'bring' })}>
            Import
          </button>
          <button type="button" className="btn" onClick={() => setAsking({ what: 'new' })}>
            <Plus size={15} aria-hidden /> New skill
          </button>
        </>
      }
    >
      <Section
        title="Skills"
        detail="Each skill tells agents how to do a kind of work. Skills are folders in agent/skills of your vault."
      >
        <Shown of={skills}>
          {(list) =>
            list.length === 0 ? (
              <div className="card">
                <Empty>No skills yet. Write one, or import some from a git repository.</Empty>
              </div>
            ) : (
              <Card>
                {list.map((skill) => (
                  <SkillRow key={skill.path + (skill.agent ?? '')} skill={skill} ask={setAsking} done={done} />
                ))}
              </Card>
            )
          }
        </Shown>
      </Section>
      {asking?.what === 'bring' && (
        <Modal label="Import skills" onClose={close} className="max-w-105">
          <Form action="Import" onSubmit={bring} onCancel={close}>
            <Field
              label="Address of a git repository"
              name="address"
              type="url"
              required
              autoFocus
              hint="They wait until you accept them. To add a folder or ZIP file, run `onyx skills add`."
            />
          </Form>
        </Modal>
      )}
      {asking?.what === 'new' && <SkillEditor close={close} done={done} />}
      {asking?.what === 'edit' && <SkillEditor name={asking.skill.name} close={close} done={done} />}
      {asking?.what === 'remove' && (
        <Confirm
          question={`Remove the skill ${asking.skill.name}?`}
          detail="The last versions of its files are kept."
          action="Remove"
          onAnswer={(yes) => void remove(asking.skill, yes)}
        />
      )}
    </Page>
  );
}

function SkillRow({ skill, ask, done }: { skill: Skill; ask: (asking: Asking) => void; done: (said: string) => void }) {
  const waits = skill.state === 'new' || skill.state === 'changed';
  const accept = async () => {
    if (await attempt('Not accepted', () => onyx.skills.accept(skill.name, skill.hash))) done(`${skill.name} accepted`);
  };
  const files = Object.keys(skill.files);
  return (
    <div>
      <Line
        label={
          <span className="flex items-center gap-2">
            {skill.name} <span className="text-tiny text-dim">{skill.agent ? `of ${skill.agent}` : skill.path}</span>
          </span>
        }
        detail={
          <>
            <Words>{skill.problem ?? skill.description}</Words>
            <span className="block">
              {[
                STATES[skill.state],
                files.length > 0 && `with ${files.join(', ')}`,
                skill.allowedTools && `Requests ${skill.allowedTools} (not granted automatically)`,
              ]
                .filter(Boolean)
                .join(' · ')}
            </span>
          </>
        }
      >
        {waits && (
          <button type="button" className="btn btn-primary" onClick={() => void accept()}>
            Accept
          </button>
        )}
        {skill.place === 'vault' && (
          <>
            <button
              type="button"
              className="btn"
              aria-label={`Edit ${skill.name}`}
              onClick={() => ask({ what: 'edit', skill })}
            >
              Edit
            </button>
            <button
              type="button"
              className="btn btn-danger"
              aria-label={`Remove ${skill.name}`}
              onClick={() => ask({ what: 'remove', skill })}
            >
              Remove
            </button>
          </>
        )}
      </Line>
      {waits && skill.diff && <Diff lines={skill.diffLines ?? []} label={`Change to the skill ${skill.name}`} />}
    </div>
  );
}

import { signOut } from '../../store/client';
import { allowed } from '../../store/notify';
import { usePreferences, type Preferences } from '../../store/preferences';
import { toast } from '../../store/state';
import { Card, Choices, Line, Section, Switch } from '../../ui/form';

export function General() {
  return (
    <>
      <Section title="Appearance">
        <Card>
          <Radio
            label="Theme"
            of="theme"
            options={[
              ['system', 'System'],
              ['light', 'Light'],
              ['dark', 'Dark'],
            ]}
          />
        </Card>
      </Section>
      <Section title="Writing">
        <Card>
          <Radio
            label="Send with"
            of="sendWith"
            options={[
              ['enter', 'Enter'],
              ['mod-enter', '⌘/Ctrl Enter'],
            ]}
          />
          <Radio
            label="While an agent works"
            detail="Steer: your message is read after the current step. Queue: after the answer."
            of="delivery"
            options={[
              ['steer', 'Steer'],
              ['follow_up', 'Queue'],
            ]}
          />
        </Card>
      </Section>
      <Section title="Notifications">
        <Card>
          <Notifications />
        </Card>
      </Section>
      <Section title="Help">
        <Card>
          <Line label="Manual" detail="How to do things, every setting, command and error. It is part of your server.">
            <a className="btn" href="/manual/" target="_blank" rel="noreferrer">
              Open the manual
            </a>
          </Line>
          <Line label="API" detail="Every route of this server, for your own programs.">
            <a className="btn" href="/docs" target="_blank" rel="noreferrer">
              Open the API page
            </a>
          </Line>
        </Card>
      </Section>
      <Section title="This browser">
        <Card>
          <Line label="Sign out" detail="Ends this browser’s session.">
            <button type="button" className="btn" onClick={() => void signOut()}>
              Sign out
            </button>
          </Line>
        </Card>
      </Section>
    </>
  );
}

type Worded = 'theme' | 'delivery' | 'sendWith';

function Radio<K extends Worded>({
  label,
  detail,
  of,
  options,
}: {
  label: string;
  detail?: string;
  of: K;
  options: [Preferences[K], string][];
}) {
  const value = usePreferences((preferences) => preferences[of]);
  return (
    <Line label={label} detail={detail}>
      <Choices
        label={label}
        value={value}
        options={options}
        onChange={(chosen) => usePreferences.setState({ [of]: chosen } as Partial<Preferences>)}
      />
    </Line>
  );
}

function Notifications() {
  const notify = usePreferences((preferences) => preferences.notify);
  const set = async (wanted: boolean) => {
    const notify = wanted && (await allowed());
    usePreferences.setState({ notify });
    if (wanted && !notify)
      toast('This browser does not allow notifications from Onyx. Allow them in its settings for this page.', {
        tone: 'danger',
      });
  };
  return (
    <Line
      label="When this tab is in the background"
      detail="When an answer is ready or something needs your decision. Your browser asks once."
    >
      <Switch label="Notify" on={notify} onChange={(on) => void set(on)} />
    </Line>
  );
}

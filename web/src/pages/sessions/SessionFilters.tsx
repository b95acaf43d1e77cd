import type { SessionStatus } from '@onyx/sdk';
import { useStore } from '../../store/state';
import { useTagList } from '../../store/tags';
import { Select } from '../../ui/form';
import { SINCE, type Filters } from './useSessionList';

/** The search and the filters above the list. */
export function SessionFilters({ filters, onChange }: { filters: Filters; onChange: (filters: Filters) => void }) {
  const agents = useStore((state) => state.status?.agents);
  const tags = useTagList();
  const change = (changed: Partial<Filters>) => onChange({ ...filters, ...changed });
  return (
    <div className="mb-4 flex flex-wrap gap-2">
      <input
        className="field min-w-48 flex-1 max-sm:basis-full"
        type="search"
        placeholder="Search chats"
        aria-label="Search chats"
        value={filters.query}
        onChange={(event) => change({ query: event.target.value })}
      />
      <Select
        label="Agent"
        value={filters.agent}
        onChange={(agent) => change({ agent })}
        options={[['', 'All agents'], ...(agents ?? []).map((one) => [one.id, one.name] as [string, string])]}
      />
      <Select
        label="Time"
        value={filters.since}
        onChange={(since) => change({ since })}
        options={Object.keys(SINCE).map((name) => [name, name])}
      />
      <Select
        label="Status"
        value={filters.status}
        onChange={(status) => change({ status: status as SessionStatus })}
        options={[
          ['active', 'Active'],
          ['archived', 'Archived'],
        ]}
      />
      {tags.length > 0 && (
        <Select
          label="Tag"
          value={filters.tag}
          onChange={(tag) => change({ tag })}
          options={[['', 'All tags'], ...tags.map((one) => [one.tag, one.tag] as [string, string])]}
        />
      )}
    </div>
  );
}

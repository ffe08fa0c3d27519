/** The form of an index or a template. Whatever is wrong is told at its place, as the server would. */

import type { ComponentChildren, JSX } from "preact";
import { FIELD_TYPES, MAPPING_MODES, TOKENIZERS } from "../../shared/schema/doc_mapping.ts";
import { Modal } from "../view/modal.tsx";
import {
  changeField,
  type ConfigDraft,
  type FieldDraft,
  RETENTION_UNITS,
  type RetentionUnit,
  withField,
  withoutField,
} from "./config_draft.ts";
import { changeForm, closeForm, form, type OpenForm, saveForm } from "./form_state.ts";

const MODES: Readonly<Record<ConfigDraft["mode"], string>> = {
  dynamic: "dynamic: other members become attributes",
  lenient: "lenient: also values that do not fit",
  strict: "strict: both are refused",
};

export function ConfigForm(): JSX.Element | null {
  return form.value === undefined ? null : <Form open={form.value} />;
}

function Form({ open }: { readonly open: OpenForm }): JSX.Element {
  const { draft, before, fault, isSaving } = open;
  const change = (part: Partial<ConfigDraft>) => changeForm({ ...draft, ...part });
  const what = draft.kind === "index" ? "index" : "template";
  return (
    <Modal
      title={before === undefined ? `New ${what}` : `Change ${what} ${draft.id}`}
      onClose={closeForm}
    >
      <form
        class="config"
        onSubmit={(event) => {
          event.preventDefault();
          saveForm();
        }}
      >
        {fault?.place === "" && <p class="failure" role="alert">{fault.message}</p>}
        <div class="pair">
          <Place name="id" label={draft.kind === "index" ? "Name" : "Name of the template"}>
            <input
              {...marks("id")}
              type="text"
              disabled={before !== undefined}
              spellcheck={false}
              autocomplete="off"
              value={draft.id}
              onInput={(event) => change({ id: event.currentTarget.value })}
            />
          </Place>
          <Place name="mode" label="Members that no field names">
            <select
              {...marks("mode")}
              value={draft.mode}
              onChange={({ currentTarget: { value } }) =>
                change({ mode: MAPPING_MODES.find((one) => one === value) ?? "dynamic" })}
            >
              {MAPPING_MODES.map((one) => <option key={one} value={one}>{MODES[one]}</option>)}
            </select>
          </Place>
        </div>
        {draft.kind === "template" && <TemplateFields draft={draft} change={change} />}
        <Fields open={open} />
        <div class="pair">
          <Place name="timestampField" label="The field that is a row's time">
            <select
              {...marks("timestampField")}
              disabled={before !== undefined && draft.kind === "index"}
              value={draft.timestampField}
              onChange={(event) => change({ timestampField: event.currentTarget.value })}
            >
              {timeFields(draft).map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </Place>
          <Retention draft={draft} change={change} />
        </div>
        <p class="checks">
          <Check
            label="Rows past it go one by one, not with their file"
            isOn={draft.isExact}
            onChange={(isExact) => change({ isExact })}
          />
          <Check
            label="Words are indexed with the first commit"
            isOn={draft.indexesAtFlush}
            onChange={(indexesAtFlush) => change({ indexesAtFlush })}
          />
        </p>
        <p class="acts">
          <button type="button" onClick={closeForm}>Close without saving</button>
          <button type="submit" class="main" disabled={isSaving}>
            {isSaving ? "Saving…" : before === undefined ? `Make the ${what}` : "Save"}
          </button>
        </p>
      </form>
    </Modal>
  );
}

/** Fields that may hold the time; the one that is chosen also where it may not. */
function timeFields({ fields, timestampField }: ConfigDraft): readonly string[] {
  const names = fields.filter(({ type }) => type === "datetime").map(({ name }) => name);
  return [...new Set([timestampField, ...names])].filter((name) => name !== "");
}

/** A label, what it labels, and what is wrong there. */
function Place({ name, label, isTold = true, children }: {
  readonly name: string;
  readonly label: string;
  /** False: what is wrong is told elsewhere. */
  readonly isTold?: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {isTold && <Wrong name={name} />}
    </label>
  );
}

function Wrong({ name }: { readonly name: string }): JSX.Element | null {
  const fault = form.value?.fault;
  return fault?.place !== name
    ? null
    : <span id={`wrong-${name}`} class="wrong" role="alert">{fault.message}</span>;
}

/** Attributes of a control that may be wrong. */
function marks(name: string) {
  const isWrong = form.value?.fault?.place === name;
  return {
    id: `config-${name}`,
    "aria-invalid": isWrong,
    ...(isWrong ? { "aria-describedby": `wrong-${name}` } : {}),
  };
}

type Change = (part: Partial<ConfigDraft>) => void;

function TemplateFields({ draft, change }: {
  readonly draft: ConfigDraft;
  readonly change: Change;
}): JSX.Element {
  return (
    <div class="pair">
      <Place name="patterns" label="Names like: * is any text, ? one character">
        <input
          {...marks("patterns")}
          type="text"
          placeholder="app-* web-*"
          spellcheck={false}
          autocomplete="off"
          value={draft.patterns}
          onInput={(event) => change({ patterns: event.currentTarget.value })}
        />
      </Place>
      <Place name="priority" label="Priority: the highest that matches wins">
        <input
          {...marks("priority")}
          type="text"
          inputMode="numeric"
          value={draft.priority}
          onInput={(event) => change({ priority: event.currentTarget.value })}
        />
      </Place>
    </div>
  );
}

function Retention({ draft, change }: {
  readonly draft: ConfigDraft;
  readonly change: Change;
}): JSX.Element {
  return (
    <div class="field">
      <label for="config-retention">Rows are kept for</label>
      <span class="amount">
        <input
          {...marks("retention")}
          type="text"
          inputMode="decimal"
          placeholder="for ever"
          value={draft.retention}
          onInput={(event) => change({ retention: event.currentTarget.value })}
        />
        <select
          aria-label="Unit"
          value={draft.retentionUnit}
          onChange={(event) =>
            change({ retentionUnit: event.currentTarget.value as RetentionUnit })}
        >
          {Object.keys(RETENTION_UNITS).map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
      </span>
      <Wrong name="retention" />
    </div>
  );
}

function Check({ label, isOn, isDisabled = false, onChange }: {
  readonly label: string;
  readonly isOn: boolean;
  readonly isDisabled?: boolean;
  readonly onChange: (isOn: boolean) => void;
}): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isOn}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

function Fields({ open: { draft, before } }: { readonly open: OpenForm }): JSX.Element {
  return (
    <fieldset>
      <legend>Fields</legend>
      {draft.fields.map((field, at) => <FieldRow key={at} draft={draft} field={field} at={at} />)}
      <button type="button" onClick={() => changeForm(withField(draft))}>Add a field</button>
      {before !== undefined && draft.kind === "index" && (
        <p class="note">Fields that the index has stay as they are; new ones may be null.</p>
      )}
    </fieldset>
  );
}

function FieldRow({ draft, field, at }: {
  readonly draft: ConfigDraft;
  readonly field: FieldDraft;
  readonly at: number;
}): JSX.Element {
  const change = (part: Partial<FieldDraft>) => changeForm(changeField(draft, at, part));
  const { isStored } = field;
  const isTime = field.name === draft.timestampField;
  return (
    <div class="field-row">
      <Place isTold={false} name={`fields.${at}.name`} label="Name">
        <input
          {...marks(`fields.${at}.name`)}
          type="text"
          disabled={isStored}
          spellcheck={false}
          autocomplete="off"
          value={field.name}
          onInput={({ currentTarget: { value } }) =>
            changeForm({
              ...changeField(draft, at, { name: value }),
              ...(isTime ? { timestampField: value } : {}),
            })}
        />
      </Place>
      <Place isTold={false} name={`fields.${at}.type`} label="Type">
        <select
          {...marks(`fields.${at}.type`)}
          disabled={isStored}
          value={field.type}
          onChange={({ currentTarget: { value } }) =>
            change({ type: FIELD_TYPES.find((one) => one === value) ?? "text" })}
        >
          {FIELD_TYPES.map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
      </Place>
      <Place isTold={false} name={`fields.${at}.tokenizer`} label="Words">
        <select
          {...marks(`fields.${at}.tokenizer`)}
          disabled={isStored || field.type !== "text"}
          value={field.tokenizer}
          onChange={({ currentTarget: { value } }) =>
            change({ tokenizer: TOKENIZERS.find((one) => one === value) ?? "default" })}
        >
          {TOKENIZERS.map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
      </Place>
      <Check
        label="required"
        isOn={field.required}
        isDisabled={isStored}
        onChange={(required) => change({ required })}
      />
      <Check label="tag" isOn={field.isTag} onChange={(isTag) => change({ isTag })} />
      <Check
        label="searched"
        isOn={field.isSearched && field.type === "text"}
        isDisabled={field.type !== "text"}
        onChange={(isSearched) => change({ isSearched })}
      />
      <button
        type="button"
        title={`Takes the field ${field.name} out`}
        disabled={isStored}
        onClick={() => changeForm(withoutField(draft, at))}
      >
        ×<span class="unseen">Take out {field.name}</span>
      </button>
      <span class="row-wrong">
        {["name", "type", "tokenizer"].map((part) => (
          <Wrong key={part} name={`fields.${at}.${part}`} />
        ))}
      </span>
    </div>
  );
}
